#!/bin/sh
# The suites of am and msg in contexts with shared memory and udp: ranks of one
# pretended node use the first, those of two nodes the second, on the loopback
# interface (test/support/two_devs.h).
set -eu

export AM_DEVICES=shm,udp AM_UDP_IF=lo
failed=
for suite in am_client am_client_order am_post am_forged_random msg_proto \
    msg_order; do
    "./test/net/${suite}_two" || failed="$failed $suite"
done
if [ -n "$failed" ]; then
    echo "over shared memory and udp these failed:$failed" >&2
    exit 1
fi
