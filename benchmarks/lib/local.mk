# benchmarks/lib: what the tools in Python share, the tools, and their tests
TESTS += benchmarks/test/tools_test.py
dist_check_SCRIPTS += benchmarks/test/tools_test.py

EXTRA_DIST += \
    benchmarks/lib/am_change.py \
    benchmarks/lib/am_grid.py \
    benchmarks/lib/am_kernels.py \
    benchmarks/lib/am_measure.py \
    benchmarks/lib/am_nas.py \
    benchmarks/lib/am_plot.py \
    benchmarks/lib/am_report.py \
    benchmarks/lib/am_run.py \
    benchmarks/lib/am_settings.py \
    benchmarks/lib/am_show.py \
    benchmarks/lib/am_side.py \
    benchmarks/lib/am_stats.py \
    benchmarks/lib/am_store.py \
    benchmarks/lib/am_versus.py \
    benchmarks/test/fake_command \
    benchmarks/am_compare \
    benchmarks/compare_trial \
    benchmarks/test/slow_mpi.c \
    benchmarks/am_sweep \
    benchmarks/nas_compare \
    benchmarks/nas_run \
    benchmarks/README.md
