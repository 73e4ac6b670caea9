#!/bin/sh
# The suites of am and msg over the ofi device, by each kind of provider that
# libfabric has everywhere.
set -eu

export AM_DEVICES=ofi
failed=
# much longer than it takes: only a hang is ended
run() {
    timeout 600 "./test/unit/$1_test" ||
        failed="$failed $1/$AM_OFI_PROVIDER"
}

for provider in 'tcp;ofi_rxm' shm; do
    export AM_OFI_PROVIDER="$provider" AM_OFI_DOMAIN=lo
    [ "$provider" != shm ] || AM_OFI_DOMAIN=
    for suite in am_client_order am_fork am_post msg_proto msg_dead; do
        run $suite
    done
    # with keys that are no good, which end a connection over TCP
    for suite in am_client am_forged_random; do
        AM_OFI_READS=off run $suite
    done
done
# In one process, shm takes the memory of a context that closes from under those
# who still send to it: not those suites that close in the middle of traffic.
export AM_OFI_PROVIDER='tcp;ofi_rxm' AM_OFI_DOMAIN=lo
for suite in am_close msg_order; do
    run $suite
done
# sockets has a thread of its own, which carries packets when it gets the core:
# those suites that count on no packet to be there after some polls.
export AM_OFI_PROVIDER=sockets AM_OFI_DOMAIN=lo
for suite in am_post am_forged_random msg_proto msg_order msg_dead; do
    run $suite
done
# Receive buffers of one packet each, short ones; and a channel over it all.
export AM_OFI_PROVIDER='tcp;ofi_rxm' AM_OFI_DOMAIN=lo
AM_OFI_MULTI=off AM_OFI_PACKET=2k run msg_proto
AM_RELIABILITY=nack run msg_order
AM_OFI_READS=off run msg_proto
AM_OFI_READS=off run msg_order
# Reads and writes of memory, with registrations of their own and with kept ones.
export AM_OFI_READS=on AM_OFI_WRITES=on
for suite in msg_proto msg_order msg_dead; do
    run $suite
done
AM_OFI_CACHE=16 AM_PROTO=put run msg_order
AM_OFI_PROVIDER=shm AM_OFI_DOMAIN= run msg_proto
if [ -n "$failed" ]; then
    echo "over ofi these failed:$failed" >&2
    exit 1
fi
