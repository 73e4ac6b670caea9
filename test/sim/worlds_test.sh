#!/bin/sh
# The tests of am and msg, unmodified, on every simulated machine but sp-thin,
# on which they are tests of their own.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"
for machine in $(echo "$all" | grep -v '^sp-thin$'); do
    for name in dev_conform am_request am_region am_client am_client_order \
        am_close am_post msg_proto msg_order msg_flow msg_probe msg_choice; do
        # Some checks of dev_conform wait by counting polls: slow ones, where
        # the machine's are too short for the channel's timer.
        setting=
        case $name-$machine in
        dev_conform-bgp | dev_conform-myrinet-p3)
            setting='host.driver_poll=1 us'
            ;;
        esac
        echo "$name on $machine"
        "${AM_BUILDDIR:-.}/test/sim/${name}_sim" "$machine" ${setting:+"$setting"} \
            >/dev/null || failed=1
    done
done
exit $failed
