#!/bin/sh
# The tests of am and msg on Myrinet, where there is no channel below them.
# (On the SP, their default machine, they are tests of their own.)
set -u
failed=0
for name in dev_conform am_request am_region am_client msg_proto msg_order msg_flow; do
    "${AM_BUILDDIR:-.}/test/sim/${name}_sim" myrinet-ppro >/dev/null || failed=1
done
exit $failed
