#!/bin/sh
# The tests of am and msg, unmodified, on every simulated machine but sp-thin,
# on which they are tests of their own.
set -u
build=${AM_BUILDDIR:-.}
machines=$("$build/am_sim" --list | sed -n '/^figures/q; s/^  \([a-z].*\)/\1/p' |
    grep -v '^sp-thin$')
failed=0
for machine in $machines; do
    for name in dev_conform am_request am_region am_client am_post msg_proto \
        msg_order msg_flow; do
        # Some checks of dev_conform wait by counting polls: slow ones, where
        # the machine's are too short for the channel's timer.
        setting=
        case $name-$machine in
        dev_conform-bgp) setting='host.driver_poll=1 us' ;;
        esac
        echo "$name on $machine"
        "$build/test/sim/${name}_sim" "$machine" ${setting:+"$setting"} \
            >/dev/null || failed=1
    done
done
# Myrinet's other implementations, with chunks that fit the tests' buffers.
# dev_conform, the long one, goes over both other ways of transfer only: it
# counts polls while it waits, and a NI or host that sends again waits for a
# time.  am_request wants payloads of 1 KiB.
AM_CHAN_CHUNK=8
export AM_CHAN_CHUNK
for set in reliability=ni reliability=host transfer=pio transfer=rcpy mtu=1k \
    mtu=4k; do
    for name in dev_conform am_request am_region am_client am_post msg_order; do
        case $name-$set in
        dev_conform-[rm]* | am_request-mtu=1k) continue ;;
        esac
        echo "$name on myrinet-ppro, lanai.$set"
        "$build/test/sim/${name}_sim" myrinet-ppro "lanai.$set" >/dev/null ||
            failed=1
    done
done
exit $failed
