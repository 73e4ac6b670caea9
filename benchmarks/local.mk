# benchmarks
include benchmarks/nas/local.mk
include benchmarks/lib/local.mk
include benchmarks/mpi/local.mk

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
    benchmarks/curve.py benchmarks/peers.py

# Redraw the plots of README.md and docs/ from data measured now; with a
# simulator its own growth too, for docs/simulator.md.
EXTRA_DIST += benchmarks/figures benchmarks/sim_growth
if BUILD_SIM
SIM_FIGURES = sim-figures
endif
.PHONY: figures sim-figures
figures: am_perf am_info $(SIM_FIGURES)
	$(srcdir)/benchmarks/figures $(abs_builddir)

sim-figures: am_sim
	$(srcdir)/benchmarks/sim_growth $(abs_builddir)
	./am_sim --no-progress --reproduce scaling \
	    --plot $(srcdir)/docs/figures/sim_scaling.svg
	sed -i 's/[[:space:]]*$$//' $(srcdir)/docs/figures/sim_scaling.svg
