#!/bin/sh
# Tests of am and msg, unmodified, over Myrinet when 1% of the packets are
# spoilt: NIs (I-nirx) or hosts (I-hrx) send them again, and all arrives, once.
# So over Blue Gene/P, whose links send again themselves.
# Polls are slow, as some tests wait by counting them; chunks are small, as some
# have small buffers.
set -u
AM_CHAN_CHUNK=8
export AM_CHAN_CHUNK
failed=0
for reliability in ni host; do
    for name in am_request am_region am_client msg_order; do
        echo "$name, lanai.reliability=$reliability"
        "${AM_BUILDDIR:-.}/test/sim/${name}_sim" myrinet-ppro \
            lanai.reliability=$reliability net.fault.corrupt=1/100 \
            net.fault.port=eject 'host.driver_poll=3 us' >/dev/null || failed=1
    done
done
for name in am_request am_region am_client msg_order msg_proto msg_flow; do
    echo "$name, bgp"
    "${AM_BUILDDIR:-.}/test/sim/${name}_sim" bgp net.fault.corrupt=1/100 \
        >/dev/null || failed=1
done
exit $failed
