#!/bin/sh
# The suites of am and msg over the udp device: every context talks to the
# others through the kernel's loopback, by datagrams with macs, as it would to
# another host.
set -eu

export AM_DEVICES=udp AM_UDP_IF=lo
failed=
for suite in am_client am_client_order am_close am_fork am_post \
    am_forged_random msg_proto msg_order msg_cancel msg_dead; do
    "./test/unit/${suite}_test" || failed="$failed $suite"
done
# The largest datagrams of an Ethernet, and the other kind of channel.
AM_UDP_PACKET=1500 ./test/unit/msg_proto_test || failed="$failed small packets"
AM_RELIABILITY=timer ./test/unit/msg_order_test || failed="$failed timer"
if [ -n "$failed" ]; then
    echo "over udp these failed:$failed" >&2
    exit 1
fi
