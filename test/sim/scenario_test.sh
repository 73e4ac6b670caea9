#!/bin/sh
# am_sim --run: the example scenario is built as a user builds it, against
# nothing but the headers that are installed, and runs on every machine; what
# goes wrong is told.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"

build() { # NAME, of a source in $work or the examples
    # shellcheck disable=SC2086
    ${CC:-cc} -Wall -Werror -shared -fPIC -I"$work/include" \
        -o "$work/${1##*/}.so" "$1.c" || bad "$1.c compiles"
}

mkdir "$work/include"
cp "$source"/am-core/include/*.h "$source/nic-sim/tools/am_sim.h" \
    "$work/include"
build "$source/nic-sim/examples/ring"
ring=$work/ring.so

for machine in $all; do
    "$sim" --run "$ring" -n 6 "$machine" 7 >"$work/out" ||
        bad "the ring runs on $machine"
    grep -q '^42 hops, [0-9.]* us each$' "$work/out" || bad "7 rounds of 6"
    grep -q "^# simulated $machine, 6 nodes: .* us of virtual time.* trace" \
        "$work/out" || bad "the last line tells time and trace of $machine"
done
# Every way to run it: one trace.
ring_hash() {
    "$sim" --json --run "$ring" "$@" | hash_in
}
hash=$(ring_hash -n 4 sp-thin)
[ -n "$hash" ] || bad "JSON has a trace hash"
for way in --no-sleep --spin --threads; do
    [ "$(ring_hash $way -n 4 sp-thin)" = "$hash" ] || bad "$way: the same trace"
done
[ "$(ring_hash -n 4 sp-thin 11)" != "$hash" ] || bad "its arguments matter"
[ "$(AM_SIM_MACHINE=sp-thin ring_hash -n 4)" = "$hash" ] ||
    bad "AM_SIM_MACHINE names the machine"
# Arguments without a machine need "--"; with one they may have it.
for words in "-- 7" "sp-thin -- 7" "sp-thin 7" "-n 6 -- 7" "-- 7 -n 4"; do
    # shellcheck disable=SC2086
    AM_SIM_MACHINE=sp-thin "$sim" --run "$ring" $words >"$work/out" ||
        bad "the variable's machine and $words"
    grep -q '^[0-9]* hops' "$work/out" || bad "arguments in $words"
    rounds=$(sed -n 's/^\([0-9]*\) hops.*/\1/p' "$work/out")
    case $words in
    -n*) [ "$rounds" = 42 ] ;;
    *) [ "$rounds" = 14 ] ;;
    esac || bad "7 rounds by $words, not $rounds hops"
done
"$sim" --run "$ring" -- sp-thin 7 | grep -q '^14 hops' ||
    bad "without the variable the first word is the machine"
(cd "$work" && "$sim" --run ring.so --trace "$work/trace.json" sp-thin) \
    >"$work/out" || bad "a name without a slash is a file here"
grep -q '^20 hops' "$work/out" || bad "2 nodes and 10 rounds by default"
python3 "$source/test/sim/timeline.py" "$work/trace.json" ||
    bad "the timeline opens"

# Computation takes the time that it says; nodes that wait for ever are told.
cat >"$work/compute.c" <<'EOF'
#include <am_sim.h>
int am_sim_main(struct am_sim_node *node, int argc, char **argv)
{
    uint64_t start = am_sim_now_ps(node);

    (void)argv;
    am_sim_compute(node, 123456);
    while (argc > 1) {
        (void)am_ctx_poll_wait(am_sim_ctx(node));
    }
    return am_sim_now_ps(node) - start == 123456 ? 0 : 1;
}
EOF
build "$work/compute"
"$sim" --run "$work/compute.so" sp-thin >"$work/out" || bad "123456 ps"
for machine in $all; do # a host that waits takes no events
    "$sim" --run "$work/compute.so" "$machine" wait >"$work/out" \
        2>"$work/err" && bad "nodes that wait for ever on $machine"
    grep -q 'deadlock at .*: 2 nodes wait' "$work/err" ||
        bad "and why, on $machine: $(cat "$work/err")"
done

# Nor does one that waits for an acknowledgement, whose polls the window counts.
cat >"$work/late.c" <<'EOF'
#include <am_sim.h>
static void on_request(struct am_token *token, const uint64_t *words,
                       uint32_t count, void *data, size_t bytes)
{
    (void)words, (void)count, (void)data, (void)bytes;
    ++*(int *)am_token_arg(token);
}
int am_sim_main(struct am_sim_node *node, int argc, char **argv)
{
    struct am_ctx *ctx = am_sim_ctx(node);
    uint64_t words[8] = {0};
    int came = 0;

    (void)argc, (void)argv;
    (void)am_handler_register(ctx, AM_HANDLER_USER, on_request, &came, "late");
    am_sim_barrier(node);
    if (am_rank(ctx) == 1) {
        am_sim_compute(node, 20000000000);
    }
    (void)am_ctx_request(ctx, 1 - am_rank(ctx), AM_HANDLER_USER, words, 8, 0,
                         0);
    while (came == 0) {
        (void)am_ctx_poll_wait(ctx);
    }
    am_sim_barrier(node);
    return 0;
}
EOF
build "$work/late"
late() {
    "$sim" --json --run "$work/late.so" "$@"
}
for machine in $all; do
    late "$machine" >"$work/out" || bad "late on $machine"
    events=$(sed -n 's/.*"events":\([0-9]*\).*/\1/p' "$work/out")
    # Opening takes some thousands, a store for each of 512 buffers.
    [ "${events:-999999}" -lt 6000 ] ||
        bad "20 ms of waiting on $machine take $events events"
    [ "$(hash_in <"$work/out")" = "$(late --spin "$machine" | hash_in)" ] ||
        bad "the same trace as by polls on $machine"
done

# A node has as much stack as a process; what ends the process is told.
cat >"$work/stack.c" <<'EOF'
#include <am_sim.h>
#include <stdlib.h>
int am_sim_main(struct am_sim_node *node, int argc, char **argv)
{
    volatile char big[6 << 20];

    if (argc > 1 && *argv[1] == 'd') { /* deeper: no end */
        big[0] = (char)am_sim_main(node, argc, argv);
    }
    for (size_t i = 0; i < sizeof(big); i += 1024) {
        big[i] = (char)(i >> 10);
    }
    am_sim_barrier(node);
    if (argc > 1) {
        exit(0);
    }
    return big[5 << 20] == 0 && big[(5 << 20) + 1024] == 1 ? 0 : 1;
}
EOF
build "$work/stack"
for way in "" --threads; do
    # shellcheck disable=SC2086
    "$sim" $way --run "$work/stack.so" sp-thin >"$work/out" ||
        bad "6 MiB of stack $way"
    # shellcheck disable=SC2086
    "$sim" $way --run "$work/stack.so" sp-thin exit >"$work/out" \
        2>"$work/err" && bad "exit() $way is a failure"
    grep -q 'called exit()' "$work/err" || bad "and told"
done
"$sim" --run "$work/stack.so" sp-thin deep >"$work/out" 2>"$work/err" &&
    bad "a stack that is too small"
[ "$(cat "$work/err")" = "am_sim: a node of the scenario needs more than its \
8 MiB of stack" ] || bad "and told"

# Mistakes.
echo 'int other_main(void) { return 0; }' >"$work/other.c"
build "$work/other"
for words in "$work/none.so sp-thin" "$work/other.so sp-thin" \
    "$work/other.c sp-thin" "$ring sp-fat" "$ring -n 9999 sp-thin" \
    "$ring -n x sp-thin" "$ring --limit 0 sp-thin"; do
    # shellcheck disable=SC2086
    "$sim" --run $words >"$work/out" 2>"$work/err" && bad "--run $words fails"
    [ "$(wc -l <"$work/err")" = 1 ] || bad "--run $words: one line"
    [ -s "$work/out" ] && bad "--run $words: nothing on stdout"
done
"$sim" --run "$work/other.so" sp-thin 2>"$work/err"
grep -q 'other.so defines no am_sim_main' "$work/err" || bad "no entry"
"$sim" --run "$ring" -n 3 sp-thin 0 >"$work/out" 2>"$work/err" &&
    bad "a node that fails"
grep -q 'ring.so: am_sim_main of node [012] returned 2' "$work/err" ||
    bad "and which node"
exit $failed
