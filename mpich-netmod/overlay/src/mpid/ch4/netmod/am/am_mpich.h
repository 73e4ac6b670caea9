/*
 * What differs between releases of MPICH, 4.0 to 5.0: types and names that have
 * changed get one name here, and the entries of am_glue.h are written with them.
 * Entries and steps that a release has or lacks as a whole ask MPIDI_AM_SINCE where
 * they stand: in am_glue.h, am_init.c, am_world.c, am_met.c and am_done.c; processes
 * that meet are those of am_spawn.c to 4.3 and of am_mpich5.c from 5.0 on.
 *
 *   4.0.3  cancel_recv has is_blocking; requests are completed by another name
 *   4.1    attr in place of context_offset, isend_coll and mpi_issend; counts of RMA
 *          are MPI_Aint; pack and unpack have flags; explicit vcis behind those that
 *          are hashed to
 *   4.2    progress tells whether it made any; error flags by value
 *   4.3    MPIR_TAG_USABLE_BITS is a number of bits; entries for tagged messages of
 *          ch4's own, which need not be there; a receive's source is in its status
 *   5.0    an int coll_attr for the error flag; processes are known by lpids; basic
 *          types are internal ones
 */
#ifndef AM_MPICH_H_INCLUDED
#define AM_MPICH_H_INCLUDED

/* Is this release, say 4.0.3, or a later one built? */
#define MPIDI_AM_SINCE(major_, minor_, revision_) \
    (MPICH_NUMVERSION >= (major_) * 10000000 + (minor_) * 100000 + (revision_) * 1000)

/* ------------------------------------------------------------- requests */

/* Complete a native request: drop our reference. */
#if MPIDI_AM_SINCE(4, 0, 3)
#define MPIDI_AM_complete(req_)  MPIDI_Request_complete_fast(req_)
#define MPIDI_AM_CANCEL_PARAMETERS MPIR_Request * rreq, bool is_blocking
#else
#define MPIDI_AM_complete(req_)  MPIDIU_request_complete(req_)
#define MPIDI_AM_CANCEL_PARAMETERS MPIR_Request * rreq
#endif

#if MPIDI_AM_SINCE(4, 3, 0)
#define MPIDI_AM_generic_precv_init(buf_, partitions_, count_, datatype_, source_, tag_, comm_, \
                                    info_, req_) \
    MPIDIG_mpi_precv_init(buf_, partitions_, count_, datatype_, source_, tag_, comm_, info_, \
                          false, req_)
#else
#define MPIDI_AM_generic_precv_init     MPIDIG_mpi_precv_init
#endif

#if MPIDI_AM_SINCE(5, 0, 0)
#define MPIDI_AM_CAN_DO_TAG_PARAMETERS MPIR_Request * rreq
#else
#define MPIDI_AM_CAN_DO_TAG_PARAMETERS void
#endif

/* The source of a partitioned receive. */
#if MPIDI_AM_SINCE(4, 3, 0)
#define MPIDI_AM_part_source(req_)  ((req_)->status.MPI_SOURCE)
#else
#define MPIDI_AM_part_source(req_)  MPIDI_PART_REQUEST(req_, u.recv.source)
#endif

/* With MPICH's own shared memory: the other half of an any-source receive. */
#if MPIDI_AM_SINCE(4, 1, 0)
#define MPIDI_AM_PARTNER(req_)   ((req_)->dev.anysrc_partner)
#else
#define MPIDI_AM_PARTNER(req_)   MPIDI_REQUEST_ANYSOURCE_PARTNER(req_)
#endif

/* ------------------------------------------------------------- vcis */

#ifndef MPIDI_VCI_LOCK          /* since 5.0 */
#define MPIDI_VCI_LOCK(vci_)     MPIDI_VCI(vci_).lock
#endif

/* Has this thread the lock of vci 0, or is there none? */
#if MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__VCI
#define MPIDI_AM_VCI0_IS_MINE()  MPIDI_AM_lock_is_mine(&MPIDI_VCI_LOCK(0))
MPL_STATIC_INLINE_PREFIX bool MPIDI_AM_lock_is_mine(const MPIDU_Thread_mutex_t * mutex)
{
    int is_mine = true;

    if (MPIR_ThreadInfo.isThreaded) {
        MPL_thread_id_t self, owner = mutex->owner;

        MPL_thread_self(&self);
        MPL_thread_same(&self, &owner, &is_mine);
    }
    return is_mine;
}
#else
#define MPIDI_AM_VCI0_IS_MINE()  true
#endif

/* Contexts of libam: those for explicit vcis come behind those that are hashed to. */
#if MPIDI_AM_SINCE(4, 1, 0)
#define MPIDI_AM_VCIS            MPIDI_global.n_total_vcis
#else
#define MPIDI_AM_VCIS            MPIDI_global.n_vcis
#endif

/* With MPICH's own shared memory an any-source receive comes to irecv with the
 * lock held already. */
#if !MPIDI_AM_SINCE(4, 2, 0)
#define MPIDI_AM_RECV_ENTER(vci_, rank_)  MPID_THREAD_CS_ENTER_REC_VCI(MPIDI_VCI_LOCK(vci_))
#define MPIDI_AM_RECV_EXIT(vci_, rank_)   MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(vci_))
#else
#ifdef MPIDI_CH4_DIRECT_NETMOD
#define MPIDI_AM_IS_LOCKED(rank_)         false
#else
#define MPIDI_AM_IS_LOCKED(rank_)         ((rank_) == MPI_ANY_SOURCE)
#endif
#define MPIDI_AM_RECV_ENTER(vci_, rank_) \
    do { \
        if (!MPIDI_AM_IS_LOCKED(rank_)) { \
            MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(vci_)); \
        } \
    } while (0)
#define MPIDI_AM_RECV_EXIT(vci_, rank_) \
    do { \
        if (!MPIDI_AM_IS_LOCKED(rank_)) { \
            MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(vci_)); \
        } \
    } while (0)
#endif

/* ------------------------------------------------------------- point to point */

/* What ch4 says of a message in `attr`.  Before 4.1 that is the context's offset
 * alone; an error flag comes to isend_coll, and mpi_issend is an entry. */
#if MPIDI_AM_SINCE(4, 1, 0)
#define MPIDI_AM_CONTEXT_OFFSET(attr_)  MPIR_PT2PT_ATTR_CONTEXT_OFFSET(attr_)
#define MPIDI_AM_IS_SYNC(attr_)         MPIR_PT2PT_ATTR_GET_SYNCFLAG(attr_)
#define MPIDI_AM_ATTR_ERROR(attr_)      MPIR_PT2PT_ATTR_GET_ERRFLAG(attr_)
#else
#define MPIDI_AM_CONTEXT_OFFSET(attr_)  (attr_)
#define MPIDI_AM_IS_SYNC(attr_)         false
#define MPIDI_AM_ATTR_ERROR(attr_)      MPI_SUCCESS
#endif

/* All ranks have the same number of vcis.  Where that is one, nothing is computed and
 * the compiler knows which one it is. */
#if MPIDI_CH4_MAX_VCIS > 1
#define MPIDI_AM_HAS_ONE_VCI()  likely(MPIDI_AM_global.n_ctx == 1)
#else
#define MPIDI_AM_HAS_ONE_VCI()  true
#endif

/* The same vcis are computed on both sides, so that a message meets its receive. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_vci(int flag, MPIR_Comm * comm, int src_rank, int dst_rank,
                                          int tag, int attr)
{
#if MPIDI_AM_SINCE(4, 1, 0) && MPIDI_CH4_MAX_VCIS > 1
    int src_vci, dst_vci;

    MPIDI_EXPLICIT_VCIS(comm, attr, src_rank, dst_rank, src_vci, dst_vci);
    if (src_vci != 0 || dst_vci != 0) {
        return flag & 1 ? dst_vci : src_vci;
    }
#endif
    return MPIDI_get_vci(flag, comm, src_rank, dst_rank, tag) % MPIDI_AM_global.n_ctx;
}

/* The bits of a tag that a user can set. */
#if MPIDI_AM_SINCE(4, 3, 0)
#define MPIDI_AM_TAG_MASK        ((uint32_t) MPIR_TAG_USABLE_MASK)
#else
#define MPIDI_AM_TAG_MASK        ((uint32_t) MPIR_TAG_USABLE_BITS)
#endif

/* ------------------------------------------------------------- data */

#if MPIDI_AM_SINCE(4, 1, 0)
typedef MPI_Aint MPIDI_AM_rma_count_t;
#else
typedef int MPIDI_AM_rma_count_t;
#endif

#if MPIDI_AM_SINCE(4, 1, 0)
#define MPIDI_AM_iov_len(count_, datatype_, bytes_, iov_len_) \
    MPIR_Typerep_iov_len(count_, datatype_, bytes_, iov_len_, NULL)
#define MPIDI_AM_pack(buf_, count_, datatype_, offset_, to_, bytes_, packed_) \
    MPIR_Typerep_pack(buf_, count_, datatype_, offset_, to_, bytes_, packed_, \
                      MPIR_TYPEREP_FLAG_NONE)
#define MPIDI_AM_unpack(from_, bytes_, buf_, count_, datatype_, offset_, unpacked_) \
    MPIR_Typerep_unpack(from_, bytes_, buf_, count_, datatype_, offset_, unpacked_, \
                        MPIR_TYPEREP_FLAG_NONE)
#else
#define MPIDI_AM_iov_len    MPIR_Typerep_iov_len
#define MPIDI_AM_pack       MPIR_Typerep_pack
#define MPIDI_AM_unpack     MPIR_Typerep_unpack
#endif

#if MPIDI_AM_SINCE(5, 0, 0)
#define MPIDI_AM_BYTE       MPIR_BYTE_INTERNAL
#else
#define MPIDI_AM_BYTE       MPI_BYTE
#endif

/* Is it an integer of 64 bits? */
MPL_STATIC_INLINE_PREFIX bool MPIDI_AM_is_word(MPI_Datatype datatype)
{
#if MPIDI_AM_SINCE(5, 0, 0)
    MPI_Datatype internal = MPIR_DATATYPE_GET_RAW_INTERNAL(datatype);

    return internal == MPIR_INT64 || internal == MPIR_UINT64;
#else
    switch (datatype) {
        case MPI_INT64_T:
        case MPI_UINT64_T:
        case MPI_LONG:
        case MPI_UNSIGNED_LONG:
        case MPI_LONG_LONG:
        case MPI_UNSIGNED_LONG_LONG:
        case MPI_AINT:
        case MPI_OFFSET:
        case MPI_COUNT:
            return MPIR_Datatype_get_basic_size(datatype) == sizeof(uint64_t);
        default:
            return false;
    }
#endif
}

/* Is it an integer or a real number of C's? */
MPL_STATIC_INLINE_PREFIX void MPIDI_AM_type_kind(MPI_Datatype datatype, bool *is_integer,
                                                 bool *is_signed, bool *is_real)
{
    *is_integer = *is_signed = *is_real = false;
#if MPIDI_AM_SINCE(5, 0, 0)
    switch (MPIR_DATATYPE_GET_RAW_INTERNAL(datatype)) {
        case MPIR_INT8:
        case MPIR_INT16:
        case MPIR_INT32:
        case MPIR_INT64:
            *is_integer = *is_signed = true;
            break;
        case MPIR_UINT8:
        case MPIR_UINT16:
        case MPIR_UINT32:
        case MPIR_UINT64:
            *is_integer = true;
            break;
        case MPIR_FLOAT32:
        case MPIR_FLOAT64:
            *is_real = true;
            break;
        default:
            break;
    }
#else
    switch (datatype) {
        case MPI_SIGNED_CHAR:
        case MPI_SHORT:
        case MPI_INT:
        case MPI_LONG:
        case MPI_LONG_LONG:
        case MPI_INT8_T:
        case MPI_INT16_T:
        case MPI_INT32_T:
        case MPI_INT64_T:
            *is_integer = *is_signed = true;
            break;
        case MPI_CHAR:
            *is_integer = true;
            *is_signed = CHAR_MIN < 0;
            break;
        case MPI_UNSIGNED_CHAR:
        case MPI_UNSIGNED_SHORT:
        case MPI_UNSIGNED:
        case MPI_UNSIGNED_LONG:
        case MPI_UNSIGNED_LONG_LONG:
        case MPI_UINT8_T:
        case MPI_UINT16_T:
        case MPI_UINT32_T:
        case MPI_UINT64_T:
            *is_integer = true;
            break;
        case MPI_FLOAT:
        case MPI_DOUBLE:
            *is_real = true;
            break;
        default:
            break;
    }
#endif
}

/* ------------------------------------------------------------- contexts */

/* What a communicator's context has added to it for messages of collectives. */
#if MPIDI_AM_SINCE(4, 2, 0)
#define MPIDI_AM_CONTEXT_COLL    MPIR_CONTEXT_COLL_OFFSET
#else
#define MPIDI_AM_CONTEXT_COLL    MPIR_CONTEXT_INTRA_COLL
#endif

/* ------------------------------------------------------------- collectives */

/* The state of a collective that has failed: as an entry gets it, what remembers
 * it meanwhile, and the calls that take it or add to it. */
#if MPIDI_AM_SINCE(5, 0, 0)
typedef int MPIDI_AM_errflag_t;
#define MPIDI_AM_ERRFLAG_PARAMETER  int coll_attr
#define MPIDI_AM_ERRFLAG            coll_attr
#define MPIDI_AM_ERRFLAG_ADDRESS    &coll_attr
#define MPIDI_AM_NO_ERROR           MPIR_COLL_ATTR_SYNC
#define MPIDI_AM_errflag_is_set(errflag_)     MPIR_COLL_ATTR_HAS_ERR(*(errflag_))
#define MPIDI_AM_errflag_set(errflag_, flag_) (*(errflag_) |= (flag_))
#define MPIDI_AM_errflag_class(errflag_) \
    (*(errflag_) & MPIR_ERR_PROC_FAILED ? MPIX_ERR_PROC_FAILED : MPI_ERR_OTHER)
#elif MPIDI_AM_SINCE(4, 2, 0)
typedef MPIR_Errflag_t MPIDI_AM_errflag_t;
#define MPIDI_AM_ERRFLAG_PARAMETER  MPIR_Errflag_t errflag
#define MPIDI_AM_ERRFLAG            errflag
#define MPIDI_AM_ERRFLAG_ADDRESS    &errflag
#define MPIDI_AM_NO_ERROR           MPIR_ERR_NONE
#else
typedef MPIR_Errflag_t MPIDI_AM_errflag_t;
#define MPIDI_AM_ERRFLAG_PARAMETER  MPIR_Errflag_t * errflag
#define MPIDI_AM_ERRFLAG            errflag
#define MPIDI_AM_ERRFLAG_ADDRESS    errflag
#endif
#if !MPIDI_AM_SINCE(5, 0, 0)
#define MPIDI_AM_errflag_is_set(errflag_)     (*(errflag_) != MPIR_ERR_NONE)
#define MPIDI_AM_errflag_set(errflag_, flag_) (*(errflag_) = (flag_))
#define MPIDI_AM_errflag_class(errflag_)      (*(errflag_))
#endif

#if MPIDI_AM_SINCE(4, 2, 0)
#define MPIDI_AM_c_wait(req_, errflag_)  MPIC_Wait(req_)
#else
#define MPIDI_AM_c_wait                  MPIC_Wait
#endif

/* `bytes` of each rank of `comm`, on any algorithm; errors as a code of MPI. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_allgather(const void *mine, void *all, size_t bytes,
                                                MPIR_Comm * comm)
{
#if MPIDI_AM_SINCE(4, 2, 0)
    return MPIR_Allgather_allcomm_auto(mine, (MPI_Aint) bytes, MPIDI_AM_BYTE, all,
                                       (MPI_Aint) bytes, MPIDI_AM_BYTE, comm, MPIDI_AM_NO_ERROR);
#else
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    return MPIR_Allgather_allcomm_auto(mine, (MPI_Aint) bytes, MPIDI_AM_BYTE, all,
                                       (MPI_Aint) bytes, MPIDI_AM_BYTE, comm, &errflag);
#endif
}

/* ------------------------------------------------------------- progress */

/* Why the caller of progress polls: patch 0002 makes MPICH tell.  Without it a wait is
 * a test, which gives up the core now and then but never sleeps. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_caller_waits(void)
{
#ifdef MPIR_PROGRESS_TELLS_WAITS
    if (!MPIR_progress_waits) {
        return MPIDI_AM_TEST;
    }
#ifdef MPIDI_CH4_DIRECT_NETMOD
    /* another thread could hold what we wait for, and needs the lock we hold */
    if (!MPIR_ThreadInfo.isThreaded && MPIDI_AM_VCIS == 1 && !MPIR_Progress_hook_any_active()) {
        return MPIDI_AM_WAIT;
    }
#endif
    return MPIDI_AM_YIELD;
#else
    return MPIDI_AM_TEST;
#endif
}

/* Whoever waits on this vci looks again at what it waits for: before 4.2 only a change of
 * this number ends a turn of a wait. */
MPL_STATIC_INLINE_PREFIX void MPIDI_AM_wake(int vci)
{
#if !MPIDI_AM_SINCE(4, 2, 0)
    MPL_atomic_fetch_add_int(&MPIDI_VCI(vci).progress_count, 1);
#endif
}

/* ------------------------------------------------------------- processes */

/* The table's entry for a rank of this world. */
MPL_STATIC_INLINE_PREFIX MPIDI_av_entry_t *MPIDI_AM_world_av(int rank)
{
#if MPIDI_AM_SINCE(5, 0, 0)
    return MPIDIU_lpid_to_av((MPIR_Lpid) rank);
#else
    return &MPIDIU_get_av(0, rank);
#endif
}

/* The rank in this world that a rank of `comm` is, -1 when it is of another. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_world_rank(MPIR_Comm * comm, int rank)
{
#if MPIDI_AM_SINCE(5, 0, 0)
    return MPIDIU_get_grank(rank, comm);
#else
    int avtid = 0, lpid = 0;

    MPIDIU_comm_rank_to_pid(comm, rank, &lpid, &avtid);
    return avtid == 0 ? lpid : -1;
#endif
}

/* The table's entry for a rank of the side of `comm` that this process is on. */
MPL_STATIC_INLINE_PREFIX MPIDI_av_entry_t *MPIDI_AM_local_av(MPIR_Comm * comm, int rank)
{
#if MPIDI_AM_SINCE(5, 0, 0)
    return MPIDIU_lpid_to_av(MPIR_Group_rank_to_lpid(comm->local_group, rank));
#else
    int avtid = 0, lpid = 0;

    MPIDIU_comm_rank_to_pid_local(comm, rank, &lpid, &avtid);
    return &MPIDIU_get_av(avtid, lpid);
#endif
}

/* The members of a new intracommunicator are these ranks of `from`.  Its commit is not to use
 * collectives: it would broadcast a number for the choice of a vci, which fails where another
 * member dies meanwhile. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_comm_take_members(MPIR_Comm * comm, MPIR_Comm * from,
                                                        int *ranks, int count)
{
#if MPIDI_AM_SINCE(5, 0, 0)
    comm->vcis_enabled = false;
    MPIR_Comm_set_session_ptr(comm, from->session_ptr);
    return MPIR_Group_incl_impl(from->local_group, count, ranks, &comm->local_group);
#else
    comm->tainted = 1;
    MPIR_Comm_map_irregular(comm, from, ranks, count, MPIR_COMM_MAP_DIR__L2L, NULL);
    return MPI_SUCCESS;
#endif
}

/* Is its commit over?  That ends in a broadcast of a number for the choice of a vci, if the
 * communicator has one. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_AM_comm_has_begun(const MPIR_Comm * comm)
{
#if MPIDI_AM_SINCE(5, 0, 0)
    bool has_number = comm->vcis_enabled;
#else
    bool has_number = !comm->tainted;
#endif

    return comm->seq != 0 || !has_number || HANDLE_IS_BUILTIN(comm->handle) ||
        comm->comm_kind != MPIR_COMM_KIND__INTRACOMM;
}

/* The hint by which a program promises that all members of a communicator start its persistent
 * collectives in one order (MPI 4.1): its index, which 4.2 has. */
#if MPIDI_AM_SINCE(4, 2, 0)
#define MPIDI_AM_ORDER_HINT() MPIR_COMM_HINT_STRICT_PCOLL_ORDERING
#else
#define MPIDI_AM_ORDER_HINT() \
    MPIR_Comm_register_hint(0, "mpi_assert_strict_persistent_collective_ordering", NULL, \
                            MPIR_COMM_HINT_TYPE_BOOL, 0, 0)
#endif

/* Do several ranks of the communicator share a node? */
MPL_STATIC_INLINE_PREFIX bool MPIDI_AM_shares_nodes(MPIR_Comm * comm)
{
#if MPIDI_AM_SINCE(5, 0, 0)
    return comm->num_external != comm->local_size;
#else
    return comm->node_comm != NULL;
#endif
}

#endif /* AM_MPICH_H_INCLUDED */
