# benchmarks: MPI programs, built with the mpicc that is to be measured and
# therefore no part of "make all":  make nas MPICC=/path/to/mpicc
MPICC = mpicc
NAS_OUT = $(abs_builddir)/benchmarks/nas/build

nas:
	$(MAKE) -f '$(abs_srcdir)/benchmarks/nas/Makefile' \
	    MPICC='$(MPICC)' CFLAGS='-O3' O='$(NAS_OUT)'

.PHONY: nas

EXTRA_DIST += \
    benchmarks/nas/Makefile \
    benchmarks/nas/bt.c \
    benchmarks/nas/cg.c \
    benchmarks/nas/ep.c \
    benchmarks/nas/flow.c \
    benchmarks/nas/flow.h \
    benchmarks/nas/ft.c \
    benchmarks/nas/ft_line.c \
    benchmarks/nas/ft_line.h \
    benchmarks/nas/is.c \
    benchmarks/nas/lu.c \
    benchmarks/nas/lu_sweep.c \
    benchmarks/nas/lu_sweep.h \
    benchmarks/nas/mg.c \
    benchmarks/nas/mg_grid.c \
    benchmarks/nas/mg_grid.h \
    benchmarks/nas/mg_stencil.c \
    benchmarks/nas/mg_stencil.h \
    benchmarks/nas/mp_grid.c \
    benchmarks/nas/mp_grid.h \
    benchmarks/nas/nas_common.c \
    benchmarks/nas/nas_common.h \
    benchmarks/nas/sp.c

# The comparison of MPI libraries: benchmarks/mpi_compare --am PREFIX
EXTRA_DIST += benchmarks/mpi_compare benchmarks/mpi/mpi_bench.c
# Comparison of am-core with its peers, and counts of instructions, which are
# a test: they are the same on every run of one build.
check_PROGRAMS += benchmarks/path_count
benchmarks_path_count_SOURCES = benchmarks/path_count.c
benchmarks_path_count_LDADD = libam.la
benchmarks_path_count_LDFLAGS = $(AM_LDFLAGS) -static
dist_check_SCRIPTS += benchmarks/instructions
TESTS += benchmarks/instructions
EXTRA_DIST += benchmarks/am_core_compare benchmarks/instructions.txt \
    benchmarks/peers.py
