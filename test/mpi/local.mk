# test/mpi: MPICH's own suite on ch4:am.
EXTRA_DIST += test/mpi/run test/mpi/xfail test/mpi/faults test/mpi/wait.c \
    test/mpi/rests test/mpi/rest.c

# Part of make check: needs no MPICH.
dist_check_SCRIPTS += test/mpi/cvars
TESTS += test/mpi/cvars

# The part that continuous integration has time for, and the whole.
MPICH_CI_FOLDERS = attr init info topo group comm datatype part pt2pt
MPICH_CHECK_FLAGS =

.PHONY: mpich-check mpich-check-ci
mpich-check-ci: mpich
	$(srcdir)/test/mpi/run --build $(mpich_dir) $(MPICH_CHECK_FLAGS) \
	    $(MPICH_CI_FOLDERS)
	$(srcdir)/test/mpi/faults $(mpich_dir)/install
	$(srcdir)/test/mpi/rests $(mpich_dir)/install

mpich-check: mpich
	$(srcdir)/test/mpi/run --build $(mpich_dir) $(MPICH_CHECK_FLAGS) \
	    --lists testlist,testlist.dtp
	$(srcdir)/test/mpi/run --build $(mpich_dir) $(MPICH_CHECK_FLAGS) \
	    --setting rendezvous --setting eager
	$(srcdir)/test/mpi/faults $(mpich_dir)/install
	$(srcdir)/test/mpi/rests $(mpich_dir)/install
