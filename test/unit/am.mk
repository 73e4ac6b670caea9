# test/unit: the am layer and shared memory; in one process but for
# am_fd, am_fork, msg_killed, shm_death, shm_killed, shm_neighbour, shm_process, shm_spread and shm_start
if HAVE_CMOCKA
am_tests = test/unit/am_address_test \
    test/unit/am_request_test test/unit/am_region_test \
    test/unit/am_client_test test/unit/am_client_order_test \
    test/unit/am_close_test test/unit/am_default_test \
    test/unit/am_fd_test \
    test/unit/am_fork_test test/unit/am_forged_test \
    test/unit/am_forged_random_test \
    test/unit/am_forged_range_test test/unit/am_memory_test \
    test/unit/am_length_test \
    test/unit/am_post_test \
    test/unit/shm_broken_test \
    test/unit/shm_death_test test/unit/shm_detour_test test/unit/shm_far_test \
    test/unit/shm_withdraw_test \
    test/unit/shm_aside_test \
    test/unit/shm_front_test \
    test/unit/shm_pages_test \
    test/unit/shm_hostile_test \
    test/unit/shm_killed_test test/unit/shm_lanes_test \
    test/unit/msg_killed_test \
    test/unit/shm_last_test \
    test/unit/shm_late_test test/unit/shm_neighbour_test \
    test/unit/shm_process_test test/unit/shm_room_test \
    test/unit/shm_spread_test \
    test/unit/shm_start_test test/unit/shm_stranger_test
check_PROGRAMS += $(am_tests)
TESTS += $(am_tests)
test_unit_am_address_test_SOURCES = test/unit/am_address_test.c
test_unit_am_address_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_request_test_SOURCES = test/unit/am_request_test.c \
    $(msg_world)
test_unit_am_request_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_region_test_SOURCES = test/unit/am_region_test.c \
    $(msg_world)
test_unit_am_region_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_fork_test_SOURCES = test/unit/am_fork_test.c \
    test/support/process.c test/support/process.h
test_unit_am_fork_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_fd_test_SOURCES = test/unit/am_fd_test.c \
    test/support/silent.c test/support/silent.h \
    test/support/process.c test/support/process.h
test_unit_am_fd_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_memory_test_SOURCES = test/unit/am_memory_test.c $(msg_world)
test_unit_am_memory_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_memory_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc \
    -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=aligned_alloc
test_unit_am_length_test_SOURCES = test/unit/am_length_test.c $(msg_world)
test_unit_am_length_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_post_test_SOURCES = test/unit/am_post_test.c $(msg_world)
test_unit_am_post_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_close_test_SOURCES = test/unit/am_close_test.c \
    $(msg_world)
test_unit_am_close_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_default_test_SOURCES = test/unit/am_default_test.c
test_unit_am_default_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_forged_test_SOURCES = test/unit/am_forged_test.c \
    test/support/forged.c test/support/forged.h $(msg_world)
test_unit_am_forged_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_forged_range_test_SOURCES = test/unit/am_forged_range_test.c \
    test/support/forged.c test/support/forged.h $(msg_world)
test_unit_am_forged_range_test_CFLAGS = $(TEST_CFLAGS)
forged_storm = test/support/forged_storm_ops.c \
    test/support/forged_storm_forge.c test/support/forged_storm.h
test_unit_am_forged_random_test_SOURCES = \
    test/unit/am_forged_random_test.c $(forged_storm) $(msg_world)
test_unit_am_forged_random_test_CFLAGS = $(TEST_CFLAGS)
client_inbox = test/support/client_inbox.c test/support/client_inbox.h
test_unit_am_client_test_SOURCES = test/unit/am_client_test.c \
    $(client_inbox) $(msg_world)
test_unit_am_client_order_test_SOURCES = test/unit/am_client_order_test.c \
    $(client_inbox) $(msg_world)
test_unit_am_client_order_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_client_test_CFLAGS = $(TEST_CFLAGS)
shm_two = test/support/shm_two.c test/support/shm_two.h $(msg_world)
test_unit_shm_broken_test_SOURCES = test/unit/shm_broken_test.c $(shm_two)
test_unit_shm_broken_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_last_test_SOURCES = test/unit/shm_last_test.c $(msg_world)
test_unit_shm_last_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_hostile_test_SOURCES = test/unit/shm_hostile_test.c $(shm_two)
test_unit_shm_hostile_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_aside_test_SOURCES = test/unit/shm_aside_test.c $(msg_world)
test_unit_shm_aside_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_detour_test_SOURCES = test/unit/shm_detour_test.c $(msg_world)
test_unit_shm_detour_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_withdraw_test_SOURCES = test/unit/shm_withdraw_test.c $(msg_world)
test_unit_shm_withdraw_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_far_test_SOURCES = test/unit/shm_far_test.c $(msg_world)
test_unit_shm_far_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_front_test_SOURCES = test/unit/shm_front_test.c \
    $(msg_world)
test_unit_shm_front_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_pages_test_SOURCES = test/unit/shm_pages_test.c \
    test/support/msg_world.c
test_unit_shm_pages_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_spread_test_SOURCES = test/unit/shm_spread_test.c \
    test/support/process.c test/support/process.h
test_unit_shm_spread_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_neighbour_test_SOURCES = test/unit/shm_neighbour_test.c \
    test/support/neighbour_talk.c test/support/neighbour_disturb.c \
    test/support/neighbour.h \
    test/support/process.c test/support/process.h
test_unit_shm_neighbour_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_lanes_test_SOURCES = test/unit/shm_lanes_test.c \
    $(msg_world)
test_unit_shm_lanes_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_late_test_SOURCES = test/unit/shm_late_test.c \
    $(msg_world)
test_unit_shm_late_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_room_test_SOURCES = test/unit/shm_room_test.c \
    test/support/process.c test/support/process.h $(msg_world)
test_unit_shm_room_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_death_test_SOURCES = test/unit/shm_death_test.c \
    test/support/process.c test/support/process.h
test_unit_shm_death_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_stranger_test_SOURCES = test/unit/shm_stranger_test.c \
    $(msg_world)
test_unit_shm_stranger_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_start_test_SOURCES = test/unit/shm_start_test.c \
    test/support/process.c test/support/process.h
test_unit_shm_start_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_killed_test_SOURCES = test/unit/msg_killed_test.c \
    test/support/process.c test/support/process.h
test_unit_msg_killed_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_killed_test_SOURCES = test/unit/shm_killed_test.c \
    test/support/process.c test/support/process.h
test_unit_shm_killed_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_process_test_SOURCES = test/unit/shm_process_test.c \
    test/support/process.c test/support/process.h
test_unit_shm_process_test_CFLAGS = $(TEST_CFLAGS)
endif
