#!/bin/sh
# Tests of am and msg, unmodified, over Myrinet when 1% of the packets are
# spoilt: NIs (I-nirx) or hosts (I-hrx) send them again, and all arrives, once.
# So over Blue Gene/P, whose links send again themselves.
# Polls are slow, as some tests wait by counting them; chunks are small, as some
# have small buffers.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"
AM_CHAN_CHUNK=8
export AM_CHAN_CHUNK

# run WHAT PROGRAM MACHINE SETTING...: it ends well, and packets were WHAT.
run() {
    what=$1
    name=$2
    shift 2
    echo "$name, $*"
    "${AM_BUILDDIR:-.}/test/sim/${name}_sim" "$@" >"$work/out" || failed=1
    grep -q "^# simulated.* [1-9][0-9]* $what" "$work/out" ||
        bad "$name, $*: packets were $what"
}

for reliability in ni host; do
    for name in am_request am_region am_client am_client_order msg_order; do
        run dropped $name myrinet-ppro lanai.reliability=$reliability \
            net.fault.corrupt=1/100 net.fault.port=eject \
            'host.driver_poll=3 us'
    done
done
for name in am_request am_region am_client am_client_order msg_order msg_proto \
    msg_flow msg_probe; do
    run 'sent again' $name bgp net.fault.corrupt=1/100
done
exit $failed
