# benchmarks/nas: MPI programs, built with the mpicc that is to be measured and
# therefore no part of "make all":  make nas MPICC=/path/to/mpicc
MPICC = mpicc
NAS_OUT = $(abs_builddir)/benchmarks/nas/build

nas:
	$(MAKE) -f '$(abs_srcdir)/benchmarks/nas/Makefile' \
	    MPICC='$(MPICC)' CFLAGS='-O3' O='$(NAS_OUT)'

.PHONY: nas

EXTRA_DIST += \
    benchmarks/nas/Makefile \
    benchmarks/nas/agree \
    benchmarks/nas/bt.c \
    benchmarks/nas/cg.c \
    benchmarks/nas/check \
    benchmarks/nas/ep.c \
    benchmarks/nas/flow.c \
    benchmarks/nas/flow.h \
    benchmarks/nas/ft.c \
    benchmarks/nas/ft_layout.c \
    benchmarks/nas/ft_layout.h \
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
    benchmarks/nas/mp_program.c \
    benchmarks/nas/mp_program.h \
    benchmarks/nas/nas_common.c \
    benchmarks/nas/nas_common.h \
    benchmarks/nas/sp.c
