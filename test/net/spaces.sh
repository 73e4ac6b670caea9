#!/bin/sh
# Runs one rank of a command in each of several network namespaces, which are
# joined by a bridge, with packets lost on the way.  Ends with 77 and a word
# where this is not allowed; takes down what it made, however it ends.
#
# Usage: spaces.sh COUNT LOSS COMMAND...     LOSS packets of 1000
set -eu

count=$1
loss=$2
shift 2
hub=amhub$$

skip() {
    echo "skipped: $1"
    exit 77
}

[ "$(id -u)" = 0 ] || skip "network namespaces are for root"
for tool in ip mpiexec; do
    command -v "$tool" >/dev/null || skip "there is no $tool"
done
PATH=$PATH:/usr/sbin:/sbin
[ "$loss" = 0 ] || command -v nft >/dev/null || skip "there is no nft"

clean() {
    trap '' INT TERM HUP
    i=0
    while [ $i -lt "$count" ]; do
        ip netns del "am$$-$i" 2>/dev/null || true
        i=$((i + 1))
    done
    ip netns del "$hub" 2>/dev/null || true
}

ip netns add "$hub" 2>/dev/null || skip "ip netns add is not allowed"
trap clean EXIT
trap 'exit 130' INT TERM HUP
ip -n "$hub" link add bridge type bridge 2>/dev/null ||
    skip "this kernel has no bridge"
ip -n "$hub" link set bridge up

# One rank's namespace; its packets are cut before they leave, so that each of a
# run can be lost by itself.
space() {
    ip netns add "am$$-$1"
    ip -n "am$$-$1" link add eth0 gso_max_segs 1 type veth \
        peer name "port$1" netns "$hub"
    ip -n "$hub" link set "port$1" master bridge up
    ip -n "am$$-$1" addr add "10.77.0.$(($1 + 1))/24" dev eth0
    ip -n "am$$-$1" link set lo up
    ip -n "am$$-$1" link set eth0 up
    [ "$loss" != 0 ] || return 0
    ip netns exec "am$$-$1" nft -f - <<EOF || skip "nft cannot drop packets here"
table inet am {
    chain input {
        type filter hook input priority 0;
        meta l4proto udp numgen random mod 1000 < $loss counter drop
    }
}
EOF
}

ranks=
i=0
while [ $i -lt "$count" ]; do
    space $i
    ranks="$ranks${ranks:+ : }-n 1 ip netns exec am$$-$i $*"
    i=$((i + 1))
done
# shellcheck disable=SC2086
mpiexec $ranks
