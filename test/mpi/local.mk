# test/mpi: MPICH's own suite on ch4:am.
EXTRA_DIST += test/mpi/run test/mpi/xfail test/mpi/faults test/mpi/wait.c \
    test/mpi/rests test/mpi/rest.c test/mpi/programs \
    test/mpi/messages.c test/mpi/counters.c \
    test/mpi/variables.c test/mpi/flood.c test/mpi/atomic.c test/mpi/large.c

# Part of make check: needs no MPICH.
dist_check_SCRIPTS += test/mpi/cvars
TESTS += test/mpi/cvars

# The part that continuous integration has time for, and the whole.
MPICH_CI_FOLDERS = attr init info mpi_t topo group comm datatype errhan errors \
    part pt2pt spawn
# of coll: each operation once or more, blocking, between groups, and not
MPICH_CI_COLL = coll/(allr|allg|alltoall1|bc|coll2|ex|ica|nonblocking2|p_b|reds)
MPICH_CHECK_FLAGS =

.PHONY: mpich-check mpich-check-ci
mpich-check-ci: mpich
	$(srcdir)/test/mpi/run --build $(mpich_dir) $(MPICH_CHECK_FLAGS) \
	    $(MPICH_CI_FOLDERS)
	$(srcdir)/test/mpi/run --build $(mpich_dir) $(MPICH_CHECK_FLAGS) \
	    --setting rendezvous --setting eager \
	    --only '$(MPICH_CI_COLL)' coll
	$(srcdir)/test/mpi/programs $(mpich_dir)/install
	$(srcdir)/test/mpi/faults $(mpich_dir)/install
	$(srcdir)/test/mpi/rests $(mpich_dir)/install

mpich-check: mpich
	$(srcdir)/test/mpi/run --build $(mpich_dir) $(MPICH_CHECK_FLAGS) \
	    --lists testlist,testlist.dtp
	$(srcdir)/test/mpi/run --build $(mpich_dir) $(MPICH_CHECK_FLAGS) \
	    --setting rendezvous --setting eager
	$(srcdir)/test/mpi/programs $(mpich_dir)/install
	$(srcdir)/test/mpi/faults $(mpich_dir)/install
	$(srcdir)/test/mpi/rests $(mpich_dir)/install

# The other configurations: what differs in them.
MPICH_AUTO_FOLDERS = attr pt2pt coll rma spawn
MPICH_AM_ONLY_FOLDERS = attr pt2pt rma
MPICH_PER_VCI_FOLDERS = pt2pt threads
MPICH_PER_VCI_COUNT = 4

.PHONY: mpich-check-auto mpich-check-am-only mpich-check-per-vci
# Two nodes by name, so that messages go both ways: MPICH's and libam's.
mpich-check-auto: mpich-auto
	$(srcdir)/test/mpi/run --build $(mpich_dir)-auto $(MPICH_CHECK_FLAGS) \
	    --env MPIR_CVAR_NUM_CLIQUES=2 $(MPICH_AUTO_FOLDERS)
	$(srcdir)/test/mpi/programs --env MPIR_CVAR_NUM_CLIQUES=2 \
	    $(mpich_dir)-auto/install

mpich-check-am-only: mpich-am-only
	$(srcdir)/test/mpi/run --build $(mpich_dir)-am-only \
	    $(MPICH_CHECK_FLAGS) $(MPICH_AM_ONLY_FOLDERS)

mpich-check-per-vci: mpich-per-vci
	$(srcdir)/test/mpi/run --build $(mpich_dir)-per-vci \
	    $(MPICH_CHECK_FLAGS) \
	    --env MPIR_CVAR_CH4_NUM_VCIS=$(MPICH_PER_VCI_COUNT) \
	    $(MPICH_PER_VCI_FOLDERS)
	$(srcdir)/test/mpi/programs \
	    --env MPIR_CVAR_CH4_NUM_VCIS=$(MPICH_PER_VCI_COUNT) \
	    $(mpich_dir)-per-vci/install
