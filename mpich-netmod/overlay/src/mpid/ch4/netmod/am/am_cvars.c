/*
 * libam's variables, for MPI_T and for am_vars.c.  Written by
 * scripts/gen-cvars from libam's own table (am_info -c); the first block makes
 * the names known to MPI_T before MPI_Init.
 */
#include <mpidimpl.h>
#include "am_impl.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories :
    - name : CH4_AM
      description : Variables of libam, the transport of the am netmod

cvars:
    - name        : MPIR_CVAR_CH4_AM_BUFFERED_MAX
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        largest message, above AM_EAGER_MAX, stored in a buffer at the receiver; auto: by
        cost. Unit: bytes. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_BUFFERING
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        who buffers: mpi (protocols by size), nx (data leaves at once, system memory at
        the receiver), cmmd (never: data leaves when the receive is posted), pvm (packed
        at the sender, unpacked at the receiver); all but mpi overrule AM_PROTO. One of
        mpi, nx, cmmd, pvm. libam's default: mpi.
    - name        : MPIR_CVAR_CH4_AM_BUFFER_BINS
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        bins of a sender's region (AM_BUFFER_BYTES) for small messages, count x bytes.
        libam's default: 8x1k.
    - name        : MPIR_CVAR_CH4_AM_BUFFER_BYTES
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        a sender's region at this receiver, made when it first asks; at most 16m each; 0:
        none. Unit: bytes. libam's default: 64k.
    - name        : MPIR_CVAR_CH4_AM_CHAN_ACK_DELAY
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Time after which a packet is acknowledged at the latest (timer). Unit: us. libam's
        default: 100.
    - name        : MPIR_CVAR_CH4_AM_CHAN_ACK_FRACTION
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        One part in so many of the sender's window is acknowledged by a packet of its own;
        0 is 4 for nack, 2 for timer. libam's default: 0.
    - name        : MPIR_CVAR_CH4_AM_CHAN_CHUNK
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Packets of one chunk, which has one sequence number and one acknowledgement; at
        most half a window, and 8 on a network that drops (udp). Unit: packets. libam's
        default: 36.
    - name        : MPIR_CVAR_CH4_AM_CHAN_CHUNKS
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Unacknowledged chunks of AM_CHAN_CHUNK packets, at most; not on a network that
        drops. Unit: chunks. libam's default: 2.
    - name        : MPIR_CVAR_CH4_AM_CHAN_GIVE_UP
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        How long a peer that owes an acknowledgement may say nothing before it counts as
        dead; a peer that computes says nothing, and what this process computes does not
        count. 0: for ever. Unit: s. libam's default: 7200.
    - name        : MPIR_CVAR_CH4_AM_CHAN_KEEPALIVE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Polls without an acknowledgement after which the peer is asked what it wants
        (nack); doubles each time. Unit: polls. libam's default: 1000.
    - name        : MPIR_CVAR_CH4_AM_CHAN_LINGER
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        How long a close waits for peers that say nothing, and a connection that was left
        for the other end's goodbye. Unit: ms. libam's default: 200.
    - name        : MPIR_CVAR_CH4_AM_CHAN_PACKET_BYTES
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Largest packet, header and data; at most the device's. Unit: bytes. libam's
        default: 4k.
    - name        : MPIR_CVAR_CH4_AM_CHAN_REPLY_WINDOW
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Unacknowledged packets of replies to one peer, at most. Unit: packets. libam's
        default: 76.
    - name        : MPIR_CVAR_CH4_AM_CHAN_REQUEST_WINDOW
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Unacknowledged packets of requests to one peer, at most. Unit: packets. libam's
        default: 75.
    - name        : MPIR_CVAR_CH4_AM_CHAN_RTO
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Time without an acknowledgement after which all is sent again (timer) or the peer
        is asked (nack), over udp until the way there and back is measured; doubles each
        time. Unit: us. libam's default: 1000.
    - name        : MPIR_CVAR_CH4_AM_CHAN_RTO_MAX
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Largest AM_CHAN_RTO after doubling. Unit: us. libam's default: 100000.
    - name        : MPIR_CVAR_CH4_AM_COLL_ALLGATHER
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of allgather; auto: by cost; am_info --coll shows them (name, kary:4,
        name/64k for pieces of 64 KiB); the same on all ranks. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_ALLREDUCE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of allreduce; auto: by cost; am_info --coll shows them (name, kary:4,
        name/64k for pieces of 64 KiB); the same on all ranks. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_ALLTOALL
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of all-to-all; auto: by cost; am_info --coll shows them (name, kary:4,
        name/64k for pieces of 64 KiB); the same on all ranks. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_BARRIER
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of barrier; auto: by cost; am_info --coll shows them (name, kary:4,
        name/64k for pieces of 64 KiB); the same on all ranks. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_BCAST
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of broadcast; auto: by cost; am_info --coll shows them (name, kary:4,
        name/64k for pieces of 64 KiB); the same on all ranks. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_EAGER_MAX
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        largest message of a collective that is sent before its receiver says where it
        goes, at most one packet; the same on all ranks. Unit: bytes. libam's default:
        32k.
    - name        : MPIR_CVAR_CH4_AM_COLL_EXSCAN
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of exclusive scan; auto: by cost; am_info --coll shows them (name,
        kary:4, name/64k for pieces of 64 KiB); the same on all ranks. libam's default:
        auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_GATHER
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of gather; auto: by cost; am_info --coll shows them (name, kary:4,
        name/64k for pieces of 64 KiB); the same on all ranks. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_NODE_RANKS
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        so many ranks, one after the other, count as a node, to try on one host what is
        done between nodes; 0: the devices say who is near; the same on all ranks. Unit:
        ranks. libam's default: 0.
    - name        : MPIR_CVAR_CH4_AM_COLL_REDUCE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of reduce; auto: by cost; am_info --coll shows them (name, kary:4,
        name/64k for pieces of 64 KiB); the same on all ranks. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_REDUCE_SCATTER
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of reduce-scatter; auto: by cost; am_info --coll shows them (name,
        kary:4, name/64k for pieces of 64 KiB); the same on all ranks. libam's default:
        auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_SCAN
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of scan; auto: by cost; am_info --coll shows them (name, kary:4,
        name/64k for pieces of 64 KiB); the same on all ranks. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_SCATTER
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        algorithm of scatter; auto: by cost; am_info --coll shows them (name, kary:4,
        name/64k for pieces of 64 KiB); the same on all ranks. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_COLL_SHARED
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        groups within a node have memory that all members see, for the algorithms named
        shared; asked at the group's first member. libam's default: yes.
    - name        : MPIR_CVAR_CH4_AM_COLL_WINDOW
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        messages of collectives, sent before the receiver says where they go
        (AM_COLL_EAGER_MAX), that may wait at a receiver from each sender; the same on all
        ranks. Unit: messages. libam's default: 64.
    - name        : MPIR_CVAR_CH4_AM_CONNECT_TIMEOUT
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        how long a job's ranks wait for each other when they start; 0: for ever. Unit: ms.
        libam's default: 60000.
    - name        : MPIR_CVAR_CH4_AM_DEVICES
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        devices that may be used, by name, with commas between; auto: those of the host,
        and udp when the job has ranks on another host; ofi opens only where it is named.
        libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_EAGER_MAX
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        largest message sent eagerly; auto: by cost. Unit: bytes. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_EXPLAIN
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        log the protocol table, with its reasons, of each kind of peer when it is first
        used, and when it changes; and each choice that the trials of AM_LEARN change.
        libam's default: no.
    - name        : MPIR_CVAR_CH4_AM_FAULT
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Faults to inject below the channel, for example
        drop=1/100,dup=1/50,reorder=1/20,corrupt=1/100,delay=1/50:16,stall=1/10:8,seed=7;
        the same on all ranks. libam's default: none.
    - name        : MPIR_CVAR_CH4_AM_LEARN
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        do the costs that protocols are chosen by follow what long copies are seen to
        take? much: they begin with what is built in for the kind of cores that copies
        show these to be, and follow what differs by a factor of eight (by a quarter,
        where ranks outnumber the cores, or while both ends send and the two copies of a
        stream cost a quarter more than a single copy); libam also tries a stream and a
        single copy on contiguous messages of 8 KiB and more, by size, and uses the
        faster. yes: they follow what differs by a quarter. no: they stay as they began.
        With much and yes, cores between which lines come late count as cores that share
        no cache. One of no, much, yes. libam's default: much.
    - name        : MPIR_CVAR_CH4_AM_LOG
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        level (none, error, warn, info, debug, trace, data), or level:file with %r for the
        rank. libam's default: warn.
    - name        : MPIR_CVAR_CH4_AM_OFI_CACHE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        registrations of memory that the ofi device keeps with the provider after their
        last use; only for programs that do not unmap memory which they have sent from or
        received into. Unit: registrations. libam's default: 0.
    - name        : MPIR_CVAR_CH4_AM_OFI_DOMAIN
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        domain of that provider (AM_OFI_PROVIDER), as fi_info lists it, such as eth0 or
        mlx5_0; empty: the provider's first that is not the loopback interface. libam's
        default: none.
    - name        : MPIR_CVAR_CH4_AM_OFI_MULTI
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        receive buffers that take many packets each, where the provider has them; off: one
        packet each. libam's default: on.
    - name        : MPIR_CVAR_CH4_AM_OFI_PACKET
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        largest packet of the ofi device; the same on all ranks. Unit: bytes. libam's
        default: 16k.
    - name        : MPIR_CVAR_CH4_AM_OFI_PROVIDER
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        provider of libfabric that the ofi device uses, as fi_info lists them, such as
        tcp;ofi_rxm; empty: the first that reaches other hosts; the same on all ranks.
        libam's default: none.
    - name        : MPIR_CVAR_CH4_AM_OFI_READS
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        gets by the provider's reads of remote memory, where it has them: auto over a
        network, on with the provider shm, too, off never; a key that is no good then ends
        the connection over TCP. One of auto, on, off. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_OFI_SILENCE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        how long a peer may say nothing before it counts as dead; one that computes
        without a call says nothing, and what this process computes does not count; 0: for
        ever. Unit: s. libam's default: 7200.
    - name        : MPIR_CVAR_CH4_AM_OFI_WRITES
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        puts by the provider's writes of remote memory, where it has them and can tell
        when they are there; of keys what AM_OFI_READS says. libam's default: off.
    - name        : MPIR_CVAR_CH4_AM_PREFIX_BYTES
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        length of the prefix of a rendezvous with one. Unit: bytes. libam's default: 4k.
    - name        : MPIR_CVAR_CH4_AM_PREFIX_MAX
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        largest message, above the others, sent by rendezvous with a prefix; auto: by
        cost. Unit: bytes. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_PROFILE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        file of am_tune with the costs that this machine begins with, and by which long
        messages go faster there; auto: ~/.config/libam/profile-HOST, else libam/profile
        in the system's folder of settings, if there is one; none. It is not used where
        ranks outnumber the cores. libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_PROTO
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        protocol of messages: auto, one name to force it, or a list with the largest
        message of each, such as eager:1k,buffered:8k,prefix:256k,get. libam's default:
        auto.
    - name        : MPIR_CVAR_CH4_AM_RELIABILITY
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        How packets are made reliable and ordered: auto is none on devices that are both,
        timer on simulated Myrinet whose hosts have to do it (lanai.reliability=host),
        nack elsewhere; the same on all ranks. One of auto, none, nack, timer. libam's
        default: auto.
    - name        : MPIR_CVAR_CH4_AM_RNDV
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        rendezvous above the thresholds; auto: by cost. One of auto, prefix, get, put.
        libam's default: auto.
    - name        : MPIR_CVAR_CH4_AM_SHM_CMA
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        single copy by process_vm_readv and writev where it is allowed: auto where it
        costs less than a stream, on always, off never. One of auto, off, on. libam's
        default: auto.
    - name        : MPIR_CVAR_CH4_AM_SHM_PACKET
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        largest packet, at most a quarter of AM_SHM_RING; 0 is 64k, or that quarter where
        it is less. Unit: bytes. libam's default: 0.
    - name        : MPIR_CVAR_CH4_AM_SHM_RING
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        payload ring from one process to another; 0 is twice the cache that a core has to
        itself (1m to 4m) in jobs of up to 4 processes, 512k of up to 8, and 256k of more,
        or where there are fewer CPUs. Unit: bytes. libam's default: 0.
    - name        : MPIR_CVAR_CH4_AM_SHM_SLOTS
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        64-byte slots of each class from one process to another. Unit: slots. libam's
        default: 256.
    - name        : MPIR_CVAR_CH4_AM_SIM_COMPUTE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        time that a program's own computation takes on a simulated machine (am_sim --mpi):
        none; declared, what it tells am_compute; measured:F, its processor time times F,
        which is not the same in every run. libam's default: none.
    - name        : MPIR_CVAR_CH4_AM_SIM_ENGINE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        set by am_sim --mpi for the programs that it starts: the simulator of whose
        machine they are ranks. libam's default: none.
    - name        : MPIR_CVAR_CH4_AM_SIM_MACHINE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        simulated machine of am_perf and am_sim when their command lines name none: one of
        am_sim --list, or a file; empty: am_perf runs on this machine. libam's default:
        none.
    - name        : MPIR_CVAR_CH4_AM_STATS
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        file that the counters are written to at the end, %r for the rank; - for stderr.
        libam's default: none.
    - name        : MPIR_CVAR_CH4_AM_TRACE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        file that a Chrome trace is written to at the end, %r for the rank. libam's
        default: none.
    - name        : MPIR_CVAR_CH4_AM_TRACE_RECORDS
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        length of the trace ring. Unit: records. libam's default: 64k.
    - name        : MPIR_CVAR_CH4_AM_UDP_AUTH
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        each packet carries a keyed message authentication code (MAC), and none is taken
        twice; the same on all ranks. libam's default: on.
    - name        : MPIR_CVAR_CH4_AM_UDP_BUFFER
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        the kernel's memory for what comes and waits, as far as it allows. Unit: bytes.
        libam's default: 4m.
    - name        : MPIR_CVAR_CH4_AM_UDP_IF
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        interface of the udp device, by name or by its network in CIDR notation; empty:
        the one that the route to the world takes. libam's default: none.
    - name        : MPIR_CVAR_CH4_AM_UDP_KEY
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        key of the job, 32 hexadecimal digits, handed to all ranks by who starts them;
        empty: each context makes a key, which its address carries. libam's default: none.
    - name        : MPIR_CVAR_CH4_AM_UDP_PACKET
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        largest packet with IP's header; 0: what the interface carries whole. Unit: bytes.
        libam's default: 0.
    - name        : MPIR_CVAR_CH4_AM_UDP_PORTS
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        ports that the udp device's socket may have, for firewalls: any, one, or a range
        such as 40000-40100, of which each context takes the first free one. libam's
        default: any.
    - name        : MPIR_CVAR_CH4_AM_UDP_SILENCE
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        how long a peer may say nothing before it counts as dead; one that computes
        without a call says nothing, and what this process computes does not count; 0: for
        ever. Unit: s. libam's default: 7200.
    - name        : MPIR_CVAR_CH4_AM_UNEXP_MAX
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        cap on memory for unexpected payload; at the cap senders use rendezvous or wait.
        Unit: bytes. libam's default: 64m.
    - name        : MPIR_CVAR_CH4_AM_WAIT
      category    : CH4_AM
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        what a waiting process does: auto spins, yields when others want the core, sleeps
        on a doorbell after a longer idle time. One of auto, spin, yield, sleep. libam's
        default: auto.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

MPIDI_AM_cvar_t MPIDI_AM_cvars[] = {
    {"AM_BUFFERED_MAX", &MPIR_CVAR_CH4_AM_BUFFERED_MAX, NULL},
    {"AM_BUFFERING", &MPIR_CVAR_CH4_AM_BUFFERING, NULL},
    {"AM_BUFFER_BINS", &MPIR_CVAR_CH4_AM_BUFFER_BINS, NULL},
    {"AM_BUFFER_BYTES", &MPIR_CVAR_CH4_AM_BUFFER_BYTES, NULL},
    {"AM_CHAN_ACK_DELAY", &MPIR_CVAR_CH4_AM_CHAN_ACK_DELAY, NULL},
    {"AM_CHAN_ACK_FRACTION", &MPIR_CVAR_CH4_AM_CHAN_ACK_FRACTION, NULL},
    {"AM_CHAN_CHUNK", &MPIR_CVAR_CH4_AM_CHAN_CHUNK, NULL},
    {"AM_CHAN_CHUNKS", &MPIR_CVAR_CH4_AM_CHAN_CHUNKS, NULL},
    {"AM_CHAN_GIVE_UP", &MPIR_CVAR_CH4_AM_CHAN_GIVE_UP, NULL},
    {"AM_CHAN_KEEPALIVE", &MPIR_CVAR_CH4_AM_CHAN_KEEPALIVE, NULL},
    {"AM_CHAN_LINGER", &MPIR_CVAR_CH4_AM_CHAN_LINGER, NULL},
    {"AM_CHAN_PACKET_BYTES", &MPIR_CVAR_CH4_AM_CHAN_PACKET_BYTES, NULL},
    {"AM_CHAN_REPLY_WINDOW", &MPIR_CVAR_CH4_AM_CHAN_REPLY_WINDOW, NULL},
    {"AM_CHAN_REQUEST_WINDOW", &MPIR_CVAR_CH4_AM_CHAN_REQUEST_WINDOW, NULL},
    {"AM_CHAN_RTO", &MPIR_CVAR_CH4_AM_CHAN_RTO, NULL},
    {"AM_CHAN_RTO_MAX", &MPIR_CVAR_CH4_AM_CHAN_RTO_MAX, NULL},
    {"AM_COLL_ALLGATHER", &MPIR_CVAR_CH4_AM_COLL_ALLGATHER, NULL},
    {"AM_COLL_ALLREDUCE", &MPIR_CVAR_CH4_AM_COLL_ALLREDUCE, NULL},
    {"AM_COLL_ALLTOALL", &MPIR_CVAR_CH4_AM_COLL_ALLTOALL, NULL},
    {"AM_COLL_BARRIER", &MPIR_CVAR_CH4_AM_COLL_BARRIER, NULL},
    {"AM_COLL_BCAST", &MPIR_CVAR_CH4_AM_COLL_BCAST, NULL},
    {"AM_COLL_EAGER_MAX", &MPIR_CVAR_CH4_AM_COLL_EAGER_MAX, NULL},
    {"AM_COLL_EXSCAN", &MPIR_CVAR_CH4_AM_COLL_EXSCAN, NULL},
    {"AM_COLL_GATHER", &MPIR_CVAR_CH4_AM_COLL_GATHER, NULL},
    {"AM_COLL_NODE_RANKS", &MPIR_CVAR_CH4_AM_COLL_NODE_RANKS, NULL},
    {"AM_COLL_REDUCE", &MPIR_CVAR_CH4_AM_COLL_REDUCE, NULL},
    {"AM_COLL_REDUCE_SCATTER", &MPIR_CVAR_CH4_AM_COLL_REDUCE_SCATTER, NULL},
    {"AM_COLL_SCAN", &MPIR_CVAR_CH4_AM_COLL_SCAN, NULL},
    {"AM_COLL_SCATTER", &MPIR_CVAR_CH4_AM_COLL_SCATTER, NULL},
    {"AM_COLL_SHARED", &MPIR_CVAR_CH4_AM_COLL_SHARED, NULL},
    {"AM_COLL_WINDOW", &MPIR_CVAR_CH4_AM_COLL_WINDOW, NULL},
    {"AM_CONNECT_TIMEOUT", &MPIR_CVAR_CH4_AM_CONNECT_TIMEOUT, NULL},
    {"AM_DEVICES", &MPIR_CVAR_CH4_AM_DEVICES, NULL},
    {"AM_EAGER_MAX", &MPIR_CVAR_CH4_AM_EAGER_MAX, NULL},
    {"AM_EXPLAIN", &MPIR_CVAR_CH4_AM_EXPLAIN, NULL},
    {"AM_FAULT", &MPIR_CVAR_CH4_AM_FAULT, NULL},
    {"AM_LEARN", &MPIR_CVAR_CH4_AM_LEARN, NULL},
    {"AM_LOG", &MPIR_CVAR_CH4_AM_LOG, NULL},
    {"AM_OFI_CACHE", &MPIR_CVAR_CH4_AM_OFI_CACHE, NULL},
    {"AM_OFI_DOMAIN", &MPIR_CVAR_CH4_AM_OFI_DOMAIN, NULL},
    {"AM_OFI_MULTI", &MPIR_CVAR_CH4_AM_OFI_MULTI, NULL},
    {"AM_OFI_PACKET", &MPIR_CVAR_CH4_AM_OFI_PACKET, NULL},
    {"AM_OFI_PROVIDER", &MPIR_CVAR_CH4_AM_OFI_PROVIDER, NULL},
    {"AM_OFI_READS", &MPIR_CVAR_CH4_AM_OFI_READS, NULL},
    {"AM_OFI_SILENCE", &MPIR_CVAR_CH4_AM_OFI_SILENCE, NULL},
    {"AM_OFI_WRITES", &MPIR_CVAR_CH4_AM_OFI_WRITES, NULL},
    {"AM_PREFIX_BYTES", &MPIR_CVAR_CH4_AM_PREFIX_BYTES, NULL},
    {"AM_PREFIX_MAX", &MPIR_CVAR_CH4_AM_PREFIX_MAX, NULL},
    {"AM_PROFILE", &MPIR_CVAR_CH4_AM_PROFILE, NULL},
    {"AM_PROTO", &MPIR_CVAR_CH4_AM_PROTO, NULL},
    {"AM_RELIABILITY", &MPIR_CVAR_CH4_AM_RELIABILITY, NULL},
    {"AM_RNDV", &MPIR_CVAR_CH4_AM_RNDV, NULL},
    {"AM_SHM_CMA", &MPIR_CVAR_CH4_AM_SHM_CMA, NULL},
    {"AM_SHM_PACKET", &MPIR_CVAR_CH4_AM_SHM_PACKET, NULL},
    {"AM_SHM_RING", &MPIR_CVAR_CH4_AM_SHM_RING, NULL},
    {"AM_SHM_SLOTS", &MPIR_CVAR_CH4_AM_SHM_SLOTS, NULL},
    {"AM_SIM_COMPUTE", &MPIR_CVAR_CH4_AM_SIM_COMPUTE, NULL},
    {"AM_SIM_ENGINE", &MPIR_CVAR_CH4_AM_SIM_ENGINE, NULL},
    {"AM_SIM_MACHINE", &MPIR_CVAR_CH4_AM_SIM_MACHINE, NULL},
    {"AM_STATS", &MPIR_CVAR_CH4_AM_STATS, NULL},
    {"AM_TRACE", &MPIR_CVAR_CH4_AM_TRACE, NULL},
    {"AM_TRACE_RECORDS", &MPIR_CVAR_CH4_AM_TRACE_RECORDS, NULL},
    {"AM_UDP_AUTH", &MPIR_CVAR_CH4_AM_UDP_AUTH, NULL},
    {"AM_UDP_BUFFER", &MPIR_CVAR_CH4_AM_UDP_BUFFER, NULL},
    {"AM_UDP_IF", &MPIR_CVAR_CH4_AM_UDP_IF, NULL},
    {"AM_UDP_KEY", &MPIR_CVAR_CH4_AM_UDP_KEY, NULL},
    {"AM_UDP_PACKET", &MPIR_CVAR_CH4_AM_UDP_PACKET, NULL},
    {"AM_UDP_PORTS", &MPIR_CVAR_CH4_AM_UDP_PORTS, NULL},
    {"AM_UDP_SILENCE", &MPIR_CVAR_CH4_AM_UDP_SILENCE, NULL},
    {"AM_UNEXP_MAX", &MPIR_CVAR_CH4_AM_UNEXP_MAX, NULL},
    {"AM_WAIT", &MPIR_CVAR_CH4_AM_WAIT, NULL},
    {NULL, NULL, NULL}
};
