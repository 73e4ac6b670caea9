#!/bin/sh
# The suites of am and msg in contexts with shared memory and ofi: ranks of one
# pretended node use the first, those of two nodes the second, by TCP on the
# loopback interface (test/support/two_devs.h).
set -eu

export AM_DEVICES=shm,ofi AM_OFI_PROVIDER='tcp;ofi_rxm' AM_OFI_DOMAIN=lo
failed=
run() {
    "./test/net/$1_two_ofi" || failed="$failed $1"
}

for suite in am_client_order am_post msg_proto msg_order; do
    run $suite
done
# with keys that are no good, which end a connection over TCP
for suite in am_client am_forged_random; do
    AM_OFI_READS=off run $suite
done
if [ -n "$failed" ]; then
    echo "over shared memory and ofi these failed:$failed" >&2
    exit 1
fi
