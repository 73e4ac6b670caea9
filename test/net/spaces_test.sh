#!/bin/sh
# Ranks in network namespaces of their own: messages of all sizes arrive once,
# in order and as they were, with packets lost on the way.
set -eu

spaces=$AM_SRCDIR/test/net/spaces.sh
export AM_DEVICES=udp
seed=${AM_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "spaces: AM_TEST_SEED=$seed"
cut_log=$(mktemp)
trap 'rm "$cut_log"' EXIT

# namespaces, packets of 1000 lost, messages
storm() {
    echo "$1 namespaces, $2 of 1000 packets lost, $3 messages"
    # much longer than it takes: only a hang is ended
    timeout 600 sh "$spaces" "$1" "$2" ./test/net/storm "$3" "$seed"
}

storm 2 0 400
storm 2 10 400
storm 2 50 200
storm 2 200 60
AM_RELIABILITY=timer storm 2 50 200
AM_RELIABILITY=timer storm 2 200 60
AM_RELIABILITY=timer AM_FAULT=dup=1/50,reorder=1/20,corrupt=1/100 \
    storm 2 10 200
AM_FAULT=dup=1/50,reorder=1/20,corrupt=1/100 storm 2 10 200
storm 4 10 60
# am_perf --hosts, by the device that is chosen where there are two hosts
AM_DEVICES=auto AM_STATS=- timeout 600 sh "$spaces" --hosts 2 10 sh -c \
    './am_perf --hosts "$SPACES_HOSTS" lat --sizes 8 --iterations 100' \
    >"$cut_log" 2>&1 || { cat "$cut_log" && exit 1; }
grep -qE 'udp_rx_packets [1-9]' "$cut_log"
# a link that goes down and comes up again
for reliability in nack timer; do
    AM_RELIABILITY=$reliability SPACES_CUT=0.5,1 storm 2 0 20000 >"$cut_log"
    cat "$cut_log"
    grep -qE '[1-9][0-9]* of them again' "$cut_log"
done
# by TCP, where the build has it
if grep -q '^#define AM_OFI 1' config.h; then
    AM_DEVICES=ofi storm 2 0 400
    AM_DEVICES=ofi storm 4 0 60
fi
