#!/bin/sh
# The tests of am and msg on Myrinet and Blue Gene/P, where there is no channel
# below them.  (On the SP, their default machine, they are tests of their own.)
set -u
failed=0
for name in dev_conform am_request am_region am_client msg_proto msg_order msg_flow; do
    "${AM_BUILDDIR:-.}/test/sim/${name}_sim" myrinet-ppro >/dev/null || failed=1
done
for name in am_request am_client msg_proto msg_order msg_flow; do
    "${AM_BUILDDIR:-.}/test/sim/${name}_sim" bgp >/dev/null || failed=1
done
# The conformance suite waits for timers by counting polls: slower ones.
"${AM_BUILDDIR:-.}/test/sim/dev_conform_sim" bgp 'host.driver_poll=1 us' \
    >/dev/null || failed=1
# Some tests of regions count what only streams do.
"${AM_BUILDDIR:-.}/test/sim/am_region_sim" bgp nic.put=no >/dev/null || failed=1
exit $failed
