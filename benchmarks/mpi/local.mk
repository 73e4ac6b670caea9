# benchmarks/mpi: MPI programs, built with the mpicc that is to be measured
MPI_PERF_OUT = $(abs_builddir)/benchmarks/mpi/build

mpi-perf:
	$(MAKE) -f '$(abs_srcdir)/benchmarks/mpi/Makefile' \
	    MPICC='$(MPICC)' CFLAGS='-O2' O='$(MPI_PERF_OUT)'

.PHONY: mpi-perf

EXTRA_DIST += \
    benchmarks/mpi/Makefile \
    benchmarks/mpi/check \
    benchmarks/mpi/mpi_cores.c \
    benchmarks/mpi/mpi_first.c \
    benchmarks/mpi/mpi_start.c \
    benchmarks/mpi/mpi_wait.c \
    benchmarks/mpi/mpi_perf.c \
    benchmarks/mpi/mpi_perf.h \
    benchmarks/mpi/mpi_tests.c
