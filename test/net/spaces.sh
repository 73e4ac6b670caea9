#!/bin/sh
# Makes several network namespaces, which are joined by a bridge, with
# packets lost on the way, and runs a command in them: one rank of it in each;
# or, with --hosts, the command once, beside them, with MPIEXEC set to a launcher
# that takes the namespaces for hosts (Hydra's, of the MPI in SPACES_MPI or on the
# path).  Ends with 77 and a word where this is not allowed; takes down what it
# made, however it ends.
#
# Usage: spaces.sh [--hosts] COUNT LOSS COMMAND...     LOSS packets of 1000
#   SPACES_CUT=UP,DOWN   the link is up for so many seconds, then down for so many,
#                        and so on
#   SPACES_SEGMENTS=N    the links take up to N packets at a time from the kernel: 1, or
#                        65535 where packets need not be lost one by one
#   SPACES_LOSES=tcp     of which protocol packets are lost (udp; or udp,tcp)
set -eu

hosts=no
[ "$1" != --hosts ] || { hosts=yes && shift; }
count=$1
loss=$2
shift 2
segments=${SPACES_SEGMENTS:-1}
hub=amhub$$
folder=
launcher=${SPACES_MPI:+$SPACES_MPI/bin/}mpiexec.hydra

skip() {
    echo "skipped: $1"
    exit 77
}

[ "$(id -u)" = 0 ] || skip "network namespaces are for root"
for tool in ip unshare "$launcher"; do
    command -v "$tool" >/dev/null || skip "there is no $tool"
done
PATH=$PATH:/usr/sbin:/sbin
[ "$loss" = 0 ] || command -v nft >/dev/null || skip "there is no nft"

child=
cutter=
clean() {
    trap '' INT TERM HUP
    for process in $child $cutter; do
        kill "$process" 2>/dev/null || true
    done
    i=0
    while [ $i -lt "$count" ]; do
        ip netns del "am$$-$i" 2>/dev/null || true
        i=$((i + 1))
    done
    ip netns del "$hub" 2>/dev/null || true
    [ -z "$folder" ] || rm -r "$folder"
}

ip netns add "$hub" 2>/dev/null || skip "ip netns add is not allowed"
trap clean EXIT
trap 'exit 130' INT TERM HUP
ip -n "$hub" link add bridge type bridge 2>/dev/null ||
    skip "this kernel has no bridge"
ip -n "$hub" link set bridge up

# One namespace; its packets are cut before they leave, so that each of a run can
# be lost by itself, where nothing else is said.
space() {
    ip netns add "am$$-$1"
    ip -n "am$$-$1" link add eth0 gso_max_segs "$segments" type veth \
        peer name "port$1" netns "$hub"
    ip -n "$hub" link set "port$1" master bridge up
    ip -n "am$$-$1" addr add "10.77.0.$(($1 + 1))/24" dev eth0
    ip -n "am$$-$1" link set lo up
    ip -n "am$$-$1" link set eth0 up
    [ "$loss" != 0 ] || return 0
    ip netns exec "am$$-$1" nft -f - <<END || skip "nft cannot drop packets here"
table inet am {
    chain input {
        type filter hook input priority 0;
        meta l4proto { ${SPACES_LOSES:-udp} } numgen random mod 1000 < $loss counter drop
    }
}
END
}

if [ -n "${SPACES_CUT:-}" ]; then
    while sleep "${SPACES_CUT%,*}" && ip -n "$hub" link set bridge down; do
        sleep "${SPACES_CUT#*,}"
        ip -n "$hub" link set bridge up || break
    done 2>/dev/null &
    cutter=$!
fi

exec 3<&0
# In the background, so that a signal is taken at once.
run() {
    "$@" <&3 &
    child=$!
    wait $child
    exit
}

ranks=
names=
i=0
while [ $i -lt "$count" ]; do
    space $i
    ranks="$ranks${ranks:+ : }-n 1 ip netns exec am$$-$i $*"
    names="$names${names:+,}10.77.0.$((i + 1))"
    i=$((i + 1))
done
if [ $hosts = no ]; then
    # shellcheck disable=SC2086
    run "$launcher" $ranks
fi

# Hydra calls its launcher with the host and a line for that host's shell, which
# has the host's address as its own host name: a program that tells it to others
# (MPI_Get_processor_name) is found by it.  What the launcher itself listens on has
# an address in the hub.
ip -n "$hub" addr add 10.77.0.254/24 dev bridge
ip -n "$hub" link set lo up
folder=$(mktemp -d)
cat >"$folder/enter" <<END
#!/bin/sh
host=\$1
shift
exec ip netns exec "am$$-\$((\${host##*.} - 1))" unshare --uts sh -c \\
    "echo \$host >/proc/sys/kernel/hostname; \$*"
END
cat >"$folder/mpiexec" <<END
#!/bin/sh
exec "$launcher" -launcher rsh -launcher-exec "$folder/enter" \\
    -localhost 10.77.0.254 -hosts "\${SPACES_HOSTS:-$names}" "\$@"
END
chmod +x "$folder/enter" "$folder/mpiexec"
export MPIEXEC="$folder/mpiexec"
# for who calls Hydra's mpiexec itself
export SPACES_HOSTS="${SPACES_HOSTS:-$names}"
export HYDRA_LAUNCHER=rsh HYDRA_LAUNCHER_EXEC="$folder/enter" HYDRA_IFACE=bridge
run ip netns exec "$hub" "$@"
