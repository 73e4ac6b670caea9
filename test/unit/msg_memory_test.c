/*
 * No memory for a message that nobody has posted a receive for: it is lost, but
 * its credit and its space come back, and a sender that awaits an answer is told.
 * The linker puts __wrap_malloc and __wrap_aligned_alloc before the C library's.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "msg/msg_core.h"
#include "msg/msg_credit.h"

static bool fails;

void *__real_malloc(size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return fails ? NULL : __real_malloc(bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails ? NULL : __real_aligned_alloc(alignment, bytes);
}

enum {
    BYTES = 600,          /* of a class of buffers that has none yet */
    LONG_BYTES = 3 << 20, /* more than a ring holds */
    REQS = 64             /* of one slab */
};

static const struct am_msg_envelope envelope = {1, 0, 1};

static void open_with(struct world *world, const char *proto,
                      const char *buffering)
{
    const struct am_option options[] = {{"AM_PROTO", proto},
                                        {"AM_BUFFERING", buffering},
                                        {"AM_LOG", "none"},
                                        {NULL, NULL}};
    const struct am_option *const lists[] = {options, options};

    fails = false;
    world_open(world, 2, lists);
}

/* One message goes through, which opens what there is to open. */
static void one(struct world *world, struct shaped *source,
                struct shaped *target)
{
    struct ended sent, received;

    world_recv(world, 1, envelope, MASK_EXACT, &target->data, &received);
    world_send(world, 0, 1, envelope, &source->data, 0, &sent);
    world_wait(world, &received);
    world_wait(world, &sent);
    assert_int_equal(received.status.status, AM_OK);
    shaped_check(target, 1, source->data.bytes);
    world_settle(world);
}

/* What the sender has and what the receiver owes is all that was granted. */
static void check_credit(struct world *world)
{
    struct am_msg_peer *sender = am_msg_peer_at(am_msg_of(world->ctx[0]), 1);
    struct am_msg_peer *receiver = am_msg_peer_at(am_msg_of(world->ctx[1]), 0);

    world_settle(world);
    assert_int_equal((sender->credit & ~AM_CREDIT_GUARDS) + receiver->owed,
                     receiver->share);
    assert_int_equal(receiver->waiting_messages, 0);
    assert_int_equal(receiver->waiting_bytes, 0);
    assert_int_equal(world_counter(world, 1, "msg_unexpected_bytes"), 0);
}

/* Requests of the receiver that are in use until they are cancelled. */
static void take_requests(struct world *world, struct ended *posted,
                          struct am_data *data, uint32_t *count)
{
    struct am_msg *msg = am_msg_of(world->ctx[1]);
    const struct am_msg_envelope other = {1, 0, 2};

    for (*count = 0; *count == 0 || msg->req_free != NULL; ++*count) {
        assert_true(*count < 2 * REQS);
        world_recv(world, 1, other, MASK_EXACT, data, &posted[*count]);
    }
}

/* By each protocol, that there is no request for it. */
static void test_no_request(void **state)
{
    static const char *const protos[] = {"eager", "buffered", "prefix", "get",
                                         "put"};
    static struct ended posted[2 * REQS];

    for (int i = 0; i < 5; i++) {
        struct shaped source, target;
        struct world world;
        struct ended sent;
        uint32_t count;

        open_with(&world, protos[i], "mpi");
        shaped_open(&source, SHAPE_CONTIG, BYTES);
        shaped_open(&target, SHAPE_CONTIG, BYTES);
        shaped_fill(&source, 1);
        one(&world, &source, &target);
        one(&world, &source, &target); /* by the region, which it has now */
        take_requests(&world, posted, &target.data, &count);
        world_send(&world, 0, 1, envelope, &source.data, AM_MSG_SYNC, &sent);
        fails = true;
        world_wait(&world, &sent);
        fails = false;
        assert_int_equal(sent.status.status, AM_ERR_MEMORY);
        while (count-- > 0) {
            assert_int_equal(am_msg_cancel(posted[count].req), AM_DONE);
        }
        check_credit(&world);
        one(&world, &source, &target);
        shaped_close(&source);
        shaped_close(&target);
        world_close(&world);
    }
}

/* There is a request and no buffer: for a message of one packet, or for the first of
 * many, when its sender is told before the last has left. */
static void test_no_buffer(void **state)
{
    static const size_t lengths[] = {BYTES, LONG_BYTES};

    for (int i = 0; i < 2; i++) {
        struct shaped source, target;
        struct world world;
        struct ended sent;

        open_with(&world, "eager", "mpi");
        shaped_open(&source, SHAPE_CONTIG, lengths[i]);
        shaped_open(&target, SHAPE_CONTIG, lengths[i]);
        shaped_fill(&source, 1);
        one(&world, &source, &target);
        world_send(&world, 0, 1, envelope, &source.data, AM_MSG_SYNC, &sent);
        fails = true;
        world_wait(&world, &sent);
        fails = false;
        assert_int_equal(sent.status.status, AM_ERR_MEMORY);
        check_credit(&world);
        one(&world, &source, &target);
        shaped_close(&source);
        shaped_close(&target);
        world_close(&world);
    }
}

/* There is no buffer for a message that goes through one to its receive, and both
 * ends are told. */
static void test_staged(void **state)
{
    struct shaped small, source, target;
    struct ended sent, received;
    struct world world;

    open_with(&world, "eager", "pvm");
    shaped_open(&small, SHAPE_CONTIG, 8);
    shaped_open(&source, SHAPE_CONTIG, BYTES);
    shaped_open(&target, SHAPE_CONTIG, BYTES);
    shaped_fill(&small, 1);
    shaped_fill(&source, 1);
    one(&world, &small, &small);
    world_recv(&world, 1, envelope, MASK_EXACT, &target.data, &received);
    world_send(&world, 0, 1, envelope, &source.data, AM_MSG_SYNC, &sent);
    fails = true;
    world_wait(&world, &sent);
    fails = false;
    assert_int_equal(sent.status.status, AM_ERR_MEMORY);
    assert_int_equal(received.count, 1);
    assert_int_equal(received.status.status, AM_ERR_MEMORY);
    check_credit(&world);
    one(&world, &source, &target);
    shaped_close(&small);
    shaped_close(&source);
    shaped_close(&target);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_no_request),
            cmocka_unit_test(test_no_buffer),
            cmocka_unit_test(test_staged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
