# test/mpi: MPICH's own suite on ch4:am.
EXTRA_DIST += test/mpi/run test/mpi/xfail test/mpi/faults test/mpi/wait.c \
    test/mpi/rests test/mpi/rest.c test/mpi/programs test/mpi/distribution \
    test/mpi/steps test/mpi/step.c \
    test/mpi/mpi4py test/mpi/python.py \
    test/mpi/messages.c test/mpi/counters.c \
    test/mpi/moments test/mpi/kinds.c test/mpi/fewer.c test/mpi/ports.c \
    test/tools/pmi_server.py \
    test/mpi/dead.c test/mpi/dead.h test/mpi/dead_p2p.c test/mpi/dead_rma.c \
    test/mpi/dead_coll.c test/mpi/heal.c \
    test/mpi/variables.c test/mpi/flood.c test/mpi/collectives.c \
    test/mpi/shared.c test/mpi/beside.c test/mpi/started.c \
    test/mpi/wrong.c \
    test/mpi/atomic.c test/mpi/large.c test/mpi/ops.c test/mpi/answers.c \
    test/mpi/pscw.c test/mpi/waits.c test/mpi/operations.c test/mpi/peak.h \
    test/mpi/counter.h test/mpi/persist.c test/mpi/again.c test/mpi/dups.c \
    test/mpi/limits.c test/mpi/memory_limit.h test/mpi/well.h test/mpi/named.c \
    test/mpi/probed.c test/mpi/halfway.c test/mpi/returned.c test/mpi/reused.c

# Part of make check: needs no MPICH.
dist_check_SCRIPTS += test/mpi/cvars
TESTS += test/mpi/cvars

# The part that continuous integration has time for, and the whole.
MPICH_CI_FOLDERS = attr init info mpi_t topo group comm datatype errhan errors \
    part pt2pt spawn
# of coll: each operation once or more, blocking, between groups, and not
MPICH_CI_COLL = coll/(allr|allg|alltoall1|bc|coll2|ex|ica|nonblocking2|p_b|reds)
# The limit finds what hangs: 8 ranks that take turns on 2 cores beside other load
# have taken minutes.
MPICH_CHECK_FLAGS = --timeout 600

# What is ours comes first: a slow machine may have no time for all.
# Each is one command to its end: what fails does not keep the rest from
# running.  `--resume` in MPICH_CHECK_FLAGS goes on where one was cut short.
mpich_run = $(srcdir)/test/mpi/run --build $(mpich_dir) $(MPICH_CHECK_FLAGS)
mpich_own = AM_TEST_SEED=$${AM_TEST_SEED-1}; export AM_TEST_SEED; \
    $(srcdir)/test/mpi/programs --timeout 600 $(mpich_dir)/install || failed=1; \
    $(srcdir)/test/mpi/faults $(mpich_dir)/install || failed=1; \
    $(srcdir)/test/mpi/rests $(mpich_dir)/install || failed=1; \
    $(srcdir)/test/mpi/steps $(mpich_dir)/install || test $$? = 77 || \
        failed=1; \
    $(srcdir)/test/mpi/distribution $(mpich_dir)/install || failed=1; \
    $(srcdir)/test/mpi/moments --count 60 --connect-ms 10000 --limit 300 \
        $(mpich_dir)/install || failed=1; \
    AM_SRCDIR=$(srcdir) sh $(srcdir)/test/sim/mpich_test.sh || failed=1
# On several hosts, with loss: it takes many minutes.
mpich_hosts = sh $(srcdir)/test/net/mpi_spaces.sh $(mpich_dir)/install || \
    test $$? = 77 || failed=1

.PHONY: mpich-check mpich-check-ci
mpich-check-ci: mpich
	failed=0; \
	$(mpich_own); \
	$(mpich_run) $(MPICH_CI_FOLDERS) || failed=1; \
	$(mpich_run) --setting rendezvous --setting eager \
	    --only '$(MPICH_CI_COLL)' coll || failed=1; \
	exit $$failed

mpich-check: mpich
	failed=0; \
	$(mpich_run) --lists testlist,testlist.dtp || failed=1; \
	$(mpich_run) --setting rendezvous --setting eager || failed=1; \
	$(mpich_own); \
	$(mpich_hosts); \
	exit $$failed

# The other configurations: what differs in them.
MPICH_AUTO_FOLDERS = attr pt2pt coll rma spawn
MPICH_AM_ONLY_FOLDERS = attr pt2pt rma
MPICH_PER_VCI_FOLDERS = pt2pt threads
MPICH_PER_VCI_COUNT = 4

.PHONY: mpich-check-auto mpich-check-am-only mpich-check-per-vci
# Two nodes by name, so that messages go both ways: MPICH's and libam's.
mpich-check-auto: mpich-auto
	failed=0; \
	$(srcdir)/test/mpi/run --build $(mpich_dir)-auto $(MPICH_CHECK_FLAGS) \
	    --env MPIR_CVAR_NUM_CLIQUES=2 $(MPICH_AUTO_FOLDERS) || failed=1; \
	$(srcdir)/test/mpi/programs --timeout 600 --env MPIR_CVAR_NUM_CLIQUES=2 \
	    $(mpich_dir)-auto/install || failed=1; \
	exit $$failed

mpich-check-am-only: mpich-am-only
	$(srcdir)/test/mpi/run --build $(mpich_dir)-am-only \
	    $(MPICH_CHECK_FLAGS) $(MPICH_AM_ONLY_FOLDERS)

mpich-check-per-vci: mpich-per-vci
	failed=0; \
	$(srcdir)/test/mpi/run --build $(mpich_dir)-per-vci \
	    $(MPICH_CHECK_FLAGS) \
	    --env MPIR_CVAR_CH4_NUM_VCIS=$(MPICH_PER_VCI_COUNT) \
	    $(MPICH_PER_VCI_FOLDERS) || failed=1; \
	$(srcdir)/test/mpi/programs \
	    --env MPIR_CVAR_CH4_NUM_VCIS=$(MPICH_PER_VCI_COUNT) \
	    $(mpich_dir)-per-vci/install || failed=1; \
	exit $$failed
