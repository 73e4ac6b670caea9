# nic-sim: the simulator, a library of its own.  Left out by --disable-sim.
NS_MACHINES = nic-sim/machines/sp-thin.conf nic-sim/machines/sp-wide.conf \
    nic-sim/machines/myrinet-ppro.conf nic-sim/machines/myrinet-p3.conf \
    nic-sim/machines/bgp.conf nic-sim/machines/pcie4.conf \
    nic-sim/machines/ap3000.conf
NS_TARGETS = nic-sim/machines/sp-thin.expect \
    nic-sim/machines/myrinet-ppro.expect \
    nic-sim/machines/myrinet-ppro-nirx.expect \
    nic-sim/machines/myrinet-ppro-hrx.expect \
    nic-sim/machines/myrinet-ppro-pio.expect \
    nic-sim/machines/myrinet-ppro-rcpy.expect \
    nic-sim/machines/myrinet-p3.expect \
    nic-sim/machines/bgp.expect nic-sim/machines/pcie4.expect \
    nic-sim/machines/ap3000.expect
EXTRA_DIST += $(NS_MACHINES) $(NS_TARGETS) \
    test/sim/common.sh test/sim/mpiexec test/sim/mpi_job.c test/sim/invented.conf test/sim/timeline.py docs/simulator.md \
    nic-sim/examples/ring.c nic-sim/tools/am_sim.list

if BUILD_SIM
# The NIC's driver is a device of libam: base and nic-sim/include only.
libam_la_SOURCES += \
    am-core/dev/snic/snic.h am-core/dev/snic/snic_dev.c \
    am-core/dev/snic/snic_init.c am-core/dev/snic/snic_lanai.h \
    am-core/dev/snic/snic_lanai.c am-core/dev/snic/snic_lanai_init.c \
    am-core/dev/snic/snic_lanai_copy.h am-core/dev/snic/snic_lanai_copy.c \
    am-core/dev/snic/snic_lanai_land.c am-core/dev/snic/snic_lanai_page.h \
    am-core/dev/snic/snic_lanai_page.c am-core/dev/snic/snic_extra.c \
    am-core/dev/snic/snic_bgp.h am-core/dev/snic/snic_bgp.c \
    am-core/dev/snic/snic_bgp_init.c am-core/dev/snic/snic_bgp_put.c \
    am-core/dev/snic/snic_bgp_tree.c am-core/dev/snic/snic_tb2.c \
    am-core/dev/snic/snic_wq.h am-core/dev/snic/snic_wq.c \
    am-core/dev/snic/snic_wq_put.c

# A host's cpu, for the simulator and for ranks on it: libam has it, too.
noinst_LTLIBRARIES += libnshost.la
libnshost_la_SOURCES = \
    nic-sim/include/nicsim_cosim.h nic-sim/cosim/hello.h \
    nic-sim/cosim/attach.c nic-sim/cosim/box.h nic-sim/cosim/box.c \
    nic-sim/cosim/rank.h nic-sim/cosim/rank.c nic-sim/cosim/post.h \
    nic-sim/cosim/post_rank.c nic-sim/kernel/check.c \
    nic-sim/host/memory.h nic-sim/host/memory.c \
    nic-sim/host/copy.h nic-sim/host/copy.c \
    nic-sim/host/ahead.h nic-sim/host/ahead.c \
    nic-sim/host/cpu.h nic-sim/host/cpu.c nic-sim/host/port.c
libnshost_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/nic-sim
libnshost_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libam_la_LIBADD += libnshost.la
libamtest_la_LIBADD += libnshost.la

noinst_LTLIBRARIES += libnicsim.la
libnicsim_la_SOURCES = \
    nic-sim/include/nicsim.h nic-sim/include/nicsim_link.h nic-sim/include/nicsim_machine.h \
    nic-sim/include/nicsim_port.h nic-sim/include/nicsim_sim.h \
    nic-sim/include/nicsim_tb2.h \
    nic-sim/kernel/engine.h nic-sim/kernel/engine.c \
    nic-sim/kernel/queue.h nic-sim/kernel/queue.c nic-sim/kernel/heap.c \
    nic-sim/kernel/clock.c nic-sim/kernel/link.c nic-sim/kernel/fault.c \
    nic-sim/kernel/timeline.c nic-sim/kernel/slices.c \
    nic-sim/kernel/packet.c nic-sim/kernel/fiber.c \
    nic-sim/kernel/switch.h nic-sim/kernel/switch.c \
    nic-sim/kernel/large.h nic-sim/kernel/large.c \
    nic-sim/host/bus.h nic-sim/host/bus.c \
    nic-sim/host/host.h nic-sim/host/host.c nic-sim/host/pio.c \
    nic-sim/host/unit.c nic-sim/host/machine.c \
    nic-sim/host/machine_rows.c nic-sim/host/machine_rows.h \
    nic-sim/host/machine_load.c nic-sim/host/machine_load.h \
    nic-sim/net/sp.h nic-sim/net/sp.c \
    nic-sim/include/nicsim_lanai.h nic-sim/nic/nic.h nic-sim/nic/nic.c \
    nic-sim/net/myrinet.h nic-sim/net/myrinet.c \
    nic-sim/nic/lanai/lanai.h nic-sim/nic/lanai/lanai.c \
    nic-sim/nic/lanai/lanai_facts.c \
    nic-sim/nic/lanai/lanai_check.c nic-sim/nic/lanai/lanai_dma.c \
    nic-sim/nic/lanai/lanai_task.c \
    nic-sim/nic/lanai/lanai_window.c nic-sim/nic/lanai/lanai_goback.c \
    nic-sim/nic/lanai/lanai_mcast.c nic-sim/nic/lanai/lanai_copy.c \
    nic-sim/nic/lanai/lanai_fw.c \
    nic-sim/nic/lanai/lanai_rows.c \
    nic-sim/include/nicsim_bgp.h nic-sim/nic/bgp/bgp.h \
    nic-sim/nic/bgp/bgp.c nic-sim/nic/bgp/bgp_inject.c \
    nic-sim/nic/bgp/bgp_land.c nic-sim/nic/bgp/bgp_receive.c \
    nic-sim/nic/bgp/bgp_reg.c nic-sim/nic/bgp/bgp_rows.c \
    nic-sim/net/torus.h nic-sim/net/torus_inner.h nic-sim/net/torus.c \
    nic-sim/net/torus_check.c nic-sim/net/torus_init.c \
    nic-sim/net/torus_fault.c nic-sim/net/torus_queue.c \
    nic-sim/net/torus_wheel.c \
    nic-sim/net/tree_inner.h \
    nic-sim/net/tree.h nic-sim/net/tree.c nic-sim/net/tree_init.c \
    nic-sim/nic/tb2/tb2.h nic-sim/nic/tb2/tb2.c nic-sim/nic/tb2/tb2_fw.c \
    nic-sim/nic/tb2/tb2_rows.c nic-sim/include/nicsim_wq.h \
    nic-sim/nic/wq/wq.h nic-sim/nic/wq/wq.c nic-sim/nic/wq/wq_send.c \
    nic-sim/nic/wq/wq_receive.c nic-sim/nic/wq/wq_rows.c \
    nic-sim/cosim/door.c nic-sim/include/nicsim_door.h nic-sim/cosim/fork.c nic-sim/cosim/core.c \
    nic-sim/cosim/seat.h nic-sim/cosim/seat.c nic-sim/cosim/seat_init.c \
    nic-sim/cosim/post_seat.c \
    nic-sim/sim.h nic-sim/sim.c nic-sim/sim_run.c \
    am-core/base/trace.c am-core/base/stats.c
nodist_libnicsim_la_SOURCES = nic-sim/machine_text.c
libnicsim_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/nic-sim
libnicsim_la_CFLAGS = $(AM_CFLAGS) $(LIBCONFIG_CFLAGS)
libnicsim_la_LIBADD = libnshost.la $(LIBCONFIG_LIBS) -lpthread

am_perf_SOURCES += am-core/tools/perf_sim.c
am_perf_CFLAGS += $(LIBCONFIG_CFLAGS)
am_perf_LDADD = libnicsim.la libam.la $(JANSSON_LIBS) $(LIBCONFIG_LIBS)

# One binary with libam, all of it: scenarios (--run) find its functions there.
include_HEADERS += nic-sim/tools/am_sim.h
machinesdir = $(pkgdatadir)/machines
machines_DATA = $(NS_MACHINES) $(NS_TARGETS)
bin_PROGRAMS += am_sim
am_sim_SOURCES = nic-sim/tools/am_sim.h nic-sim/tools/sim.h nic-sim/tools/sim_bandwidth.c \
    nic-sim/tools/sim_bgp.c nic-sim/tools/sim_bgp_predict.c \
    nic-sim/tools/sim_alltoall.c nic-sim/tools/sim_bar.c \
    nic-sim/tools/sim_expect.c nic-sim/tools/sim_run.c nic-sim/tools/sim_run.h \
    nic-sim/tools/sim_figures.c nic-sim/tools/sim_figures.h nic-sim/tools/sim_logp.c \
    nic-sim/tools/sim_compute.c nic-sim/tools/sim_copy.c \
    nic-sim/tools/sim_mcast.c \
    nic-sim/tools/sim_mpi.c nic-sim/tools/sim_watch.c \
    nic-sim/tools/sim_predict_lanai.c \
    nic-sim/tools/sim_conf.c nic-sim/tools/sim_main.c nic-sim/tools/sim_options.c \
    nic-sim/tools/sim_options_check.c \
    nic-sim/tools/sim_predict.c \
    nic-sim/tools/sim_print.c nic-sim/tools/sim_scenario.c \
    nic-sim/tools/sim_sensitivity.c nic-sim/tools/sim_reproduce.c \
    nic-sim/tools/sim_reproduce.h nic-sim/tools/sim_reproduce_sp.c \
    nic-sim/tools/sim_reproduce_buffering.c \
    nic-sim/tools/sim_exchange.c nic-sim/tools/sim_exchange.h \
    nic-sim/tools/sim_chart.c nic-sim/tools/sim_chart.h nic-sim/tools/sim_help.c \
    nic-sim/tools/sim_coll.h nic-sim/tools/sim_coll.c \
    nic-sim/tools/sim_coll_net.h nic-sim/tools/sim_coll_net.c \
    nic-sim/tools/sim_reproduce_coll.c nic-sim/tools/sim_reproduce_lci.c \
    nic-sim/tools/sim_reproduce_bgp.c \
    nic-sim/tools/sim_reproduce_patterns.c \
    nic-sim/tools/sim_reproduce_scaling.c \
    nic-sim/tools/sim_reproduce_overlap.c \
    nic-sim/tools/sim_reproduce_nas.c \
    nic-sim/tools/sim_speed.c
am_sim_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/nic-sim \
    -DSIM_CALLS_FOLDER='"$(pkglibdir)"'
am_sim_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(LIBCONFIG_CFLAGS)
am_sim_LDADD = $(libam_la_OBJECTS) libnicsim.la $(HWLOC_LIBS) \
    $(SODIUM_LIBS) $(JANSSON_LIBS) \
    $(LIBCONFIG_LIBS) -ldl -lm
am_sim_LDFLAGS = $(AM_LDFLAGS) -static \
    -Wl,--dynamic-list=$(top_srcdir)/nic-sim/tools/am_sim.list

# What am_sim --trace puts in front of the MPI of a program.
if BUILD_SHARED
pkglib_LTLIBRARIES = sim_calls.la
sim_calls_la_SOURCES = nic-sim/tools/mpi_calls.h nic-sim/tools/mpi_calls.c
sim_calls_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/nic-sim
sim_calls_la_CFLAGS = $(AM_CFLAGS)
sim_calls_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
sim_calls_la_LIBADD = -ldl
endif

# The machine files as text, so that they are found from anywhere.
nic-sim/machine_text.c: $(NS_MACHINES) $(NS_TARGETS) $(top_srcdir)/nic-sim/local.mk
	$(AM_V_GEN)$(MKDIR_P) nic-sim; { \
	echo '#include "nicsim_machine.h"'; echo '#include <string.h>'; \
	echo 'static const char *const machines[][2] = {'; \
	for m in $(NS_MACHINES); do \
	  n=`basename $$m .conf`; echo "{\"$$n\","; \
	  sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' \
	    $(top_srcdir)/$$m; echo '},'; \
	done; echo '{NULL, NULL}};'; \
	echo 'const char *ns_machine_text(const char *name) {'; \
	echo 'for (int i = 0; machines[i][0] != NULL; i++) {'; \
	echo 'if (strcmp(machines[i][0], name) == 0) { return machines[i][1]; }'; \
	echo '} return NULL; }'; \
	echo 'const char *ns_machine_name(uint32_t index) {'; \
	echo 'return index < sizeof(machines) / sizeof(machines[0]) - 1'; \
	echo '? machines[index][0] : NULL; }'; \
	echo 'static const char *const targets[] = {'; \
	for m in $(NS_TARGETS); do \
	  sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' \
	    $(top_srcdir)/$$m; echo ','; \
	done; echo 'NULL};'; \
	echo 'const char *ns_machine_targets(uint32_t index) {'; \
	echo 'return index < sizeof(targets) / sizeof(targets[0])'; \
	echo '? targets[index] : NULL; }'; \
	} > $@.tmp && mv $@.tmp $@
CLEANFILES += nic-sim/machine_text.c
endif

if BUILD_SIM
if HAVE_CMOCKA
NS_TEST_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/nic-sim \
    -I$(top_srcdir)/test
NS_TEST_LIBS = libnicsim.la libamtest.la $(CMOCKA_LIBS)
ns_tests = test/unit/sim_kernel_test test/unit/sim_host_test \
    test/unit/sim_machine_test test/unit/sim_nic_test test/unit/sim_closed_test \
    test/unit/sim_link_test test/unit/sim_link_fault_test \
    test/unit/sim_torus_test test/unit/sim_queue_test \
    test/unit/sim_torus_fault_test test/unit/sim_tree_test \
    test/unit/sim_sp_test test/unit/sim_lanai_test \
    test/unit/sim_lanai_flow_test test/unit/sim_copy_test \
    test/unit/sim_bgp_test test/unit/sim_bgp_network_test \
    test/unit/sim_bgp_form_test test/unit/sim_wq_test \
    test/unit/sim_posts_test \
    test/unit/coll_network_test
check_PROGRAMS += $(ns_tests)
TESTS += $(ns_tests)
test_unit_sim_kernel_test_SOURCES = test/unit/sim_kernel_test.c
test_unit_sim_kernel_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_kernel_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_kernel_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_sp_test_SOURCES = test/unit/sim_sp_test.c
test_unit_sim_sp_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_sp_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_sp_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_queue_test_SOURCES = test/unit/sim_queue_test.c
test_unit_sim_queue_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_queue_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_queue_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_link_test_SOURCES = test/unit/sim_link_test.c test/support/sim_packet.h
test_unit_sim_link_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_link_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_link_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_link_fault_test_SOURCES = test/unit/sim_link_fault_test.c test/support/sim_packet.h
test_unit_sim_link_fault_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_link_fault_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_link_fault_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_torus_test_SOURCES = test/unit/sim_torus_test.c \
    test/support/sim_torus.c test/support/sim_torus.h
test_unit_sim_torus_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_torus_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_torus_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_torus_fault_test_SOURCES = test/unit/sim_torus_fault_test.c \
    test/support/sim_torus.c test/support/sim_torus.h
test_unit_sim_torus_fault_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_torus_fault_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_torus_fault_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_tree_test_SOURCES = test/unit/sim_tree_test.c
test_unit_sim_tree_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_tree_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_tree_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_host_test_SOURCES = test/unit/sim_host_test.c
test_unit_sim_host_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_host_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_host_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_nic_test_SOURCES = test/unit/sim_nic_test.c \
    test/support/sim_ping.c test/support/sim_ping.h \
    test/support/sim_dev.c test/support/sim_dev.h
test_unit_sim_nic_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_nic_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_nic_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_closed_test_SOURCES = test/unit/sim_closed_test.c \
    test/support/sim_ping.c test/support/sim_ping.h \
    test/support/sim_dev.c test/support/sim_dev.h
test_unit_sim_closed_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_closed_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_closed_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_lanai_test_SOURCES = test/unit/sim_lanai_test.c \
    test/support/sim_scene.c test/support/sim_scene.h \
    test/support/sim_dev.c test/support/sim_dev.h
test_unit_sim_lanai_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_lanai_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_lanai_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_lanai_flow_test_SOURCES = test/unit/sim_lanai_flow_test.c \
    test/support/sim_scene.c test/support/sim_scene.h \
    test/support/sim_dev.c test/support/sim_dev.h
test_unit_sim_lanai_flow_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_lanai_flow_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_lanai_flow_test_LDADD = $(NS_TEST_LIBS)
sim_ctx = test/support/sim_ctx.c test/support/sim_ctx.h
test_unit_coll_network_test_SOURCES = test/unit/coll_network_test.c $(sim_ctx)
test_unit_coll_network_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_coll_network_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_coll_network_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_posts_test_SOURCES = test/unit/sim_posts_test.c $(sim_ctx)
test_unit_sim_posts_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_posts_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_posts_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_copy_test_SOURCES = test/unit/sim_copy_test.c \
    test/support/sim_scene.c test/support/sim_scene.h \
    test/support/sim_dev.c test/support/sim_dev.h
test_unit_sim_copy_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_copy_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_copy_test_LDADD = $(NS_TEST_LIBS)
sim_bgp = test/support/sim_bgp.c test/support/sim_bgp.h \
    test/support/sim_dev.c test/support/sim_dev.h
test_unit_sim_bgp_network_test_SOURCES = test/unit/sim_bgp_network_test.c \
    $(sim_bgp)
test_unit_sim_bgp_network_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_bgp_network_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_bgp_network_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_bgp_test_SOURCES = test/unit/sim_bgp_test.c $(sim_bgp)
test_unit_sim_bgp_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_bgp_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_bgp_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_wq_test_SOURCES = test/unit/sim_wq_test.c \
    test/support/sim_dev.c test/support/sim_dev.h \
    test/support/sim_ping.c test/support/sim_ping.h
test_unit_sim_wq_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_wq_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_wq_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_bgp_form_test_SOURCES = test/unit/sim_bgp_form_test.c \
    test/support/sim_dev.c test/support/sim_dev.h
test_unit_sim_bgp_form_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_bgp_form_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_bgp_form_test_LDADD = $(NS_TEST_LIBS)
test_unit_sim_machine_test_SOURCES = test/unit/sim_machine_test.c
test_unit_sim_machine_test_CPPFLAGS = $(NS_TEST_CPPFLAGS)
test_unit_sim_machine_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_sim_machine_test_LDADD = $(NS_TEST_LIBS)
endif
endif

dist_check_SCRIPTS += test/sim/am_sim_test.sh test/sim/worlds_test.sh \
    test/sim/variants_test.sh test/sim/lossy_test.sh test/sim/perf_test.sh \
    test/sim/scenario_test.sh test/sim/command_test.sh \
    test/sim/predict_test.sh test/sim/process_test.sh test/sim/mpi_test.sh \
    test/sim/mpich_test.sh test/sim/sensitivity_test.sh \
    test/sim/reproduce_test.sh test/sim/collectives_test.sh \
    test/sim/arm64_test.sh
if BUILD_SIM
TESTS += test/sim/am_sim_test.sh test/sim/perf_test.sh \
    test/sim/scenario_test.sh test/sim/command_test.sh \
    test/sim/sensitivity_test.sh test/sim/reproduce_test.sh \
    test/sim/collectives_test.sh \
    test/sim/predict_test.sh test/sim/process_test.sh test/sim/mpi_test.sh \
    test/sim/mpich_test.sh test/sim/arm64_test.sh
if HAVE_CMOCKA
TESTS += test/sim/worlds_test.sh test/sim/variants_test.sh \
    test/sim/lossy_test.sh
endif
endif

# The tests of am and msg, unmodified, on simulated hosts.
if BUILD_SIM
if HAVE_CMOCKA
ns_world_tests = \
    test/sim/am_request_sim \
    test/sim/am_region_sim \
    test/sim/am_client_sim \
    test/sim/am_client_order_sim \
    test/sim/am_close_sim \
    test/sim/msg_proto_sim \
    test/sim/msg_order_sim \
    test/sim/msg_flow_sim \
    test/sim/msg_probe_sim \
    test/sim/msg_choice_sim \
    test/sim/coll_flow_sim \
    test/sim/coll_wrong_sim \
    test/sim/am_post_sim
check_PROGRAMS += $(ns_world_tests) test/sim/dev_conform_sim
test_sim_dev_conform_sim_SOURCES = test/sim/sim_world.c \
    test/conform/dev_conform.c test/conform/dev_cases.c \
    test/conform/dev_conform_mem.c \
    test/conform/dev_world.c test/support/pipe_dev.c test/support/dev_open.c
test_sim_dev_conform_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main \
    -DCONFORM_SIM -DSIM_MAIN_ARGUMENTS
test_sim_dev_conform_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_dev_conform_sim_LDADD = $(NS_TEST_LIBS)
TESTS += $(ns_world_tests) test/sim/dev_conform_sim
ns_world_sources = test/sim/sim_world.c $(msg_world)
test_sim_am_request_sim_SOURCES = test/unit/am_request_test.c $(ns_world_sources)
test_sim_am_request_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_am_request_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_am_request_sim_LDADD = $(NS_TEST_LIBS)
test_sim_am_region_sim_SOURCES = test/unit/am_region_test.c $(ns_world_sources)
test_sim_am_region_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_am_region_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_am_region_sim_LDADD = $(NS_TEST_LIBS)
test_sim_am_post_sim_SOURCES = test/unit/am_post_test.c $(ns_world_sources)
test_sim_am_post_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_am_post_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_am_post_sim_LDADD = $(NS_TEST_LIBS)
test_sim_am_client_sim_SOURCES = test/unit/am_client_test.c \
    $(client_inbox) $(ns_world_sources)
test_sim_am_client_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_am_client_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_am_client_sim_LDADD = $(NS_TEST_LIBS)
test_sim_am_client_order_sim_SOURCES = test/unit/am_client_order_test.c \
    $(client_inbox) $(ns_world_sources)
test_sim_am_client_order_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_am_client_order_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_am_client_order_sim_LDADD = $(NS_TEST_LIBS)
test_sim_am_close_sim_SOURCES = test/unit/am_close_test.c $(ns_world_sources)
test_sim_am_close_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_am_close_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_am_close_sim_LDADD = $(NS_TEST_LIBS)
test_sim_msg_proto_sim_SOURCES = test/unit/msg_proto_test.c $(ns_world_sources)
test_sim_msg_proto_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_msg_proto_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_msg_proto_sim_LDADD = $(NS_TEST_LIBS)
test_sim_msg_order_sim_SOURCES = test/unit/msg_order_test.c $(ns_world_sources)
test_sim_msg_order_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_msg_order_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_msg_order_sim_LDADD = $(NS_TEST_LIBS)
test_sim_msg_choice_sim_SOURCES = test/unit/msg_choice_test.c $(ns_world_sources)
test_sim_msg_choice_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_msg_choice_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_msg_choice_sim_LDADD = $(NS_TEST_LIBS)
test_sim_coll_flow_sim_SOURCES = test/unit/coll_flow_test.c \
    test/support/coll_trial.c test/support/coll_trial.h $(ns_world_sources)
test_sim_coll_flow_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_coll_flow_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_coll_flow_sim_LDADD = $(NS_TEST_LIBS)
test_sim_coll_wrong_sim_SOURCES = test/unit/coll_wrong_test.c \
    test/support/coll_trial.c test/support/coll_trial.h $(ns_world_sources)
test_sim_coll_wrong_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_coll_wrong_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_coll_wrong_sim_LDADD = $(NS_TEST_LIBS)
test_sim_msg_flow_sim_SOURCES = test/unit/msg_flow_test.c $(ns_world_sources)
test_sim_msg_flow_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_msg_flow_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_msg_flow_sim_LDADD = $(NS_TEST_LIBS)
test_sim_msg_probe_sim_SOURCES = test/unit/msg_probe_test.c $(ns_world_sources)
test_sim_msg_probe_sim_CPPFLAGS = $(NS_TEST_CPPFLAGS) -Dmain=test_main
test_sim_msg_probe_sim_CFLAGS = $(TEST_CFLAGS)
test_sim_msg_probe_sim_LDADD = $(NS_TEST_LIBS)
endif
endif
