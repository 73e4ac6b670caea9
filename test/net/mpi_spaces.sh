#!/bin/sh
# MPI on several hosts, which network namespaces play: programs of test/mpi and
# NAS kernels, by shared memory and udp, on a clean network and with packets lost.
# Ends with 77 and a word where namespaces are not allowed.
#
# Usage: mpi_spaces.sh MPICH_PREFIX [FOLDER]   what is built goes to FOLDER
set -eu

here=$(cd "$(dirname "$0")" && pwd)
SPACES_MPI=$(cd "$1" && pwd)
export SPACES_MPI
folder=${2:-}
made=
[ -n "$folder" ] || { folder=$(mktemp -d) && made=$folder; }
trap '[ -z "$made" ] || rm -r "$made"' EXIT
trap 'exit 130' INT TERM HUP
failed=

# Messages of all protocols, collectives, one-sided operations; ports and spawned
# processes, for which the devices have to be named.
common='^(AM_[A-Z_]*=[0a-z]* )*(messages|collectives \()'
common="$common|^(ops|atomic|pscw|flood|operations|waits)"
programs() {
    sh "$here/spaces.sh" --hosts 2 "$1" sh -c \
        '"$1"/programs --mpiexec "$MPIEXEC" --only "$2" "$3"' \
        sh "$here/../mpi" "$2" "$SPACES_MPI"
}

# namespaces, packets of 1000 lost
kernels() {
    sh "$here/spaces.sh" --hosts "$1" "$2" sh -c \
        '"$1"/check --mpicc "$2"/bin/mpicc --mpiexec "$MPIEXEC" --build "$3" \
            --classes S --ranks 4 --time-limit 600 --no-refusals' \
        sh "$here/../../benchmarks/nas" "$SPACES_MPI" "$folder"
}

try() {
    status=0
    echo "$*"
    "$@" || status=$?
    [ $status != 77 ] || exit 77
    [ $status = 0 ] || failed="$failed; $*"
}

for loss in 0 10 50; do
    try programs $loss "$common"
    try kernels 2 $loss
done
try kernels 4 10
AM_DEVICES=shm,udp
AM_UDP_KEY=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export AM_DEVICES AM_UDP_KEY
try programs 10 '^(ports|messages)'
if [ -n "$failed" ]; then
    echo "over two hosts these failed:$failed" >&2
    exit 1
fi
