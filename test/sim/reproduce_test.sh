#!/bin/sh
# am_sim --reproduce: tables, the paper's findings beside them, and the plot.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"

"$sim" --no-progress --reproduce bgp-mpi >"$work/out" || bad "bgp-mpi"
grep -q '^6 .*[0-9]\.[0-9]' "$work/out" || bad "a row for six neighbours"
grep -q '^so here .*rendezvous goes on growing' "$work/out" ||
    bad "rendezvous grows with each link"

"$sim" --no-progress --reproduce sp-mpi --set 'net.link=80 MB/s' sp-thin \
    >"$work/out" || bad "sp-mpi on one machine with a setting"
[ "$(grep -c 'the paper:' "$work/out")" = 7 ] || bad "findings of two charts"
grep -q 'first-fit.*and bins.*and prefix' "$work/out" ||
    bad "one thing after the other"
grep -q sp-wide "$work/out" && bad "the machine that was given, alone"

# The policies are libam's, so their copies are counted exactly: of 4 KiB, which
# is many packets, pvm makes two copies more than nx, and cmmd none.
"$sim" --no-progress --reproduce buffering >"$work/out" || bad "buffering"
[ "$(grep -c '^4096 .* 1.000 .* 0.000 .* 3.000$' "$work/out")" = 2 ] ||
    bad "copies of each byte: $(grep '^4096' "$work/out")"
grep -q '^so here .*nx buffers both messages' "$work/out" || bad "nx buffers"
grep -q '^so here .*nx does not buffer' "$work/out" || bad "unless posted first"
grep -q '^so here .*the law tells' "$work/out" || bad "the law of one copy"

if command -v gnuplot >/dev/null; then
    "$sim" --no-progress --reproduce sp-mpi --plot "$work/sp.svg" sp-thin \
        >/dev/null || bad "--plot"
    grep -q '</svg>' "$work/sp.svg" || bad "an SVG"
    "$sim" --no-progress --reproduce buffering --plot "$work/buffering.svg" \
        >/dev/null || bad "--plot of the buffering"
    grep -q '</svg>' "$work/buffering.svg" || bad "an SVG of the buffering"
    "$sim" --reproduce sp-mpi --plot "$work/it's" sp-thin >/dev/null \
        2>"$work/err" && bad "a quote in the name of the plot"
fi

"$sim" --reproduce no-mpi 2>"$work/err" && bad "a name that there is not"
grep -q 'bgp-mpi' "$work/err" || bad "the names that there are"
"$sim" --plot "$work/x.svg" sp-thin 2>"$work/err" && bad "--plot alone"
grep -q -e '--plot is for --reproduce' "$work/err" || bad "and told so"
exit $failed
