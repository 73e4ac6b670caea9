#!/bin/sh
# The tests of am and msg, unmodified, on Myrinet's other implementations, with
# chunks that fit the tests' buffers.  dev_conform, the long one, goes over both
# other ways of transfer only: it counts polls while it waits, and a NI or host
# that sends again waits for a time.  am_request and msg_flow want payloads of
# 1 KiB.
set -u
AM_CHAN_CHUNK=8
export AM_CHAN_CHUNK
failed=0
for set in reliability=ni reliability=host transfer=pio transfer=rcpy mtu=1k \
    mtu=4k; do
    for name in dev_conform am_request am_region am_client am_client_order \
        am_close am_post msg_order msg_proto msg_flow msg_probe; do
        case $name-$set in
        dev_conform-[rm]* | am_request-mtu=1k | msg_flow-mtu=1k) continue ;;
        esac
        echo "$name on myrinet-ppro, lanai.$set"
        "${AM_BUILDDIR:-.}/test/sim/${name}_sim" myrinet-ppro "lanai.$set" \
            >/dev/null || failed=1
    done
done
exit $failed
