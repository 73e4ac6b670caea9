/*
 * Contexts and addresses: one libam context for each vci, connected to all
 * ranks of the world.  Addresses go through MPICH's shared memory of the node,
 * and through PMI between nodes.
 */
#include <mpidimpl.h>          /* first: it asks for what sched.h has of Linux */
#include <sched.h>
#include "am_impl.h"
#include "mpidu_init_shm.h"
#if MPIDI_AM_SINCE(5, 0, 0)
#include "mpir_pmi.h"
#else
#include "mpidu_bc.h"
#endif

#define ERROR_BYTES  512

/* The first exchange carries whether a rank failed before it, so that all
 * learn it and one of them speaks; whether threads may be in its MPICH at the
 * same time, or while an operator of the user's runs; and where a rank may run. */
struct card {
    uint32_t failed, threaded, multiple;
    cpu_set_t cpus;             /* empty: not known */
    char address[AM_ADDRESS_BYTES];
};

struct exchange {
    bool first_done;
    int failed_rank;            /* lowest, -1 if none */
};

/* Through PMI. */
static int gather_far(const void *mine, void *all, size_t bytes)
{
#if MPIDI_AM_SINCE(5, 0, 0)
    return MPIR_pmi_allgather(mine, (int) bytes, all, (int) bytes, MPIR_PMI_DOMAIN_ALL);
#else
    int mpi_errno = MPI_SUCCESS;
    void *table = NULL;
    int card_bytes = (int) bytes;

    mpi_errno = MPIDU_bc_table_create(MPIR_Process.rank, MPIR_Process.size,
                                      MPIR_Process.node_map, (void *) (uintptr_t) mine,
                                      card_bytes, TRUE, FALSE, &table, &card_bytes);
    MPIR_ERR_CHECK(mpi_errno);
    memcpy(all, table, bytes * (size_t) MPIR_Process.size);
    mpi_errno = MPIDU_bc_table_destroy();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
#endif
}

static int gather(const void *mine, void *all, size_t bytes)
{
    int mpi_errno = MPI_SUCCESS;
    void *table = NULL;

    if (MPIR_Process.size == 1) {
        memcpy(all, mine, bytes);
        return MPI_SUCCESS;
    }
    if (MPIR_Process.num_nodes == 1) {
        /* the segment is shared by all: no PMI needed */
        mpi_errno = MPIDU_Init_shm_alloc(bytes * (size_t) MPIR_Process.size, &table);
        MPIR_ERR_CHECK(mpi_errno);
        memcpy((char *) table + bytes * (size_t) MPIR_Process.rank, mine, bytes);
        mpi_errno = MPIDU_Init_shm_barrier();
        MPIR_ERR_CHECK(mpi_errno);
        memcpy(all, table, bytes * (size_t) MPIR_Process.size);
        mpi_errno = MPIDU_Init_shm_barrier();
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDU_Init_shm_free(table);
    } else {
        mpi_errno = gather_far(mine, all, bytes);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Have the ranks of my node fewer CPUs together than they are? */
static bool node_is_crowded(const struct card *cards)
{
    const int *nodes = MPIR_Process.node_map;
    int ranks = 0;
    cpu_set_t all;

    CPU_ZERO(&all);
    for (int i = 0; i < MPIR_Process.size; i++) {
        if (nodes[i] == nodes[MPIR_Process.rank]) {
            CPU_OR(&all, &all, &cards[i].cpus);
            ranks++;
        }
    }
    return CPU_COUNT(&all) > 0 && ranks > CPU_COUNT(&all);
}

static bool is_threaded(void)
{
#if MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__VCI
    return MPIR_ThreadInfo.thread_provided == MPI_THREAD_MULTIPLE;
#else
    return false;               /* one lock, which a call holds */
#endif
}

/* MPICH gives up even the one lock while an operator of the user's runs. */
static bool is_multiple(void)
{
    return MPIR_ThreadInfo.thread_provided == MPI_THREAD_MULTIPLE;
}

/* The first exchange: sets failed_rank; `all` may be NULL. */
static int exchange_cards(struct exchange *exchange, const struct card *card, void *all,
                          size_t bytes)
{
    int size = MPIR_Process.size;
    struct card *cards = MPL_malloc((size_t) size * sizeof(*cards), MPL_MEM_ADDRESS);
    int mpi_errno;

    MPIR_Assertp(cards != NULL);
    exchange->first_done = true;
    mpi_errno = gather(card, cards, sizeof(*cards));
    /* each rank on a simulated machine has a node of its own */
    MPIDI_AM_global.crowded = mpi_errno == MPI_SUCCESS && node_is_crowded(cards) &&
        !am_time_is_virtual();
    MPIDI_AM_global.serial = mpi_errno == MPI_SUCCESS;
    MPIDI_AM_global.single = mpi_errno == MPI_SUCCESS;
    for (int i = size - 1; mpi_errno == MPI_SUCCESS && i >= 0; i--) {
        if (cards[i].failed) {
            exchange->failed_rank = i;
        }
        MPIDI_AM_global.serial = MPIDI_AM_global.serial && !cards[i].threaded;
        MPIDI_AM_global.single = MPIDI_AM_global.single && !cards[i].multiple;
        if (all != NULL) {
            memcpy((char *) all + (size_t) i * bytes, cards[i].address, bytes);
        }
    }
    MPL_free(cards);
    return mpi_errno;
}

static int world_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    struct exchange *exchange = arg;
    struct card card = { 0 };
    bool in_card = bytes <= sizeof(card.address);

    if (!exchange->first_done) {
        CPU_ZERO(&card.cpus);
        (void) sched_getaffinity(0, sizeof(card.cpus), &card.cpus);
        card.threaded = is_threaded();
        card.multiple = is_multiple();
        if (in_card) {
            memcpy(card.address, mine, bytes);
        }
        if (exchange_cards(exchange, &card, in_card ? all : NULL, bytes) != MPI_SUCCESS ||
            exchange->failed_rank >= 0) {
            return -1;
        }
        if (in_card) {
            return 0;
        }
    }
    return gather(mine, all, bytes) == MPI_SUCCESS ? 0 : -1;
}

void MPIDI_AM_end(const char *sentence)
{
    fprintf(stderr, "%s\n", sentence);
    fflush(stderr);
    usleep(200000);             /* the launcher forwards it before it tears all down */
    MPIDI_AM_global.phase = MPIDI_AM_ABORTING;
    MPIR_pmi_abort(1, sentence);
    exit(1);
}

/* One sentence from one rank, and the end of the job. */
static void speak_and_end(const struct exchange *exchange, const char *error)
{
    if (exchange->failed_rank == MPIR_Process.rank) {
        MPIDI_AM_end(error);
    }
    sleep(10);                  /* the launcher ends us before */
    exit(1);
}

/* Can the libam that was found do what this module was compiled for?  One of the same first
 * number that is not older can: where it cannot, it has another soname (NEWS). */
static bool version_fits(char *error)
{
    int major = -1, minor = -1;

    if (sscanf(am_version(), "%d.%d", &major, &minor) == 2 && major == AM_VERSION_MAJOR &&
        minor >= AM_VERSION_MINOR) {
        return true;
    }
    snprintf(error, ERROR_BYTES,
             "this MPI was built for libam %d.%d or a later %d.x, and found libam %s: give it "
             "another one, by LD_LIBRARY_PATH say, or build MPI again", AM_VERSION_MAJOR,
             AM_VERSION_MINOR, AM_VERSION_MAJOR, am_version());
    return false;
}

static int open_context(int vci, am_allgather_fn allgather, void *arg, char *error)
{
    struct am_option options[MPIDI_AM_OPTIONS_MAX];
    struct am_params params = {
        .rank = (uint32_t) MPIR_Process.rank,
        .size = (uint32_t) MPIR_Process.size,
        .allgather = allgather,
        .allgather_arg = arg,
        .options = options,
        .error = error,
        .error_bytes = ERROR_BYTES,
    };
    am_status_t status;

    params.option_count = (uint32_t) MPIDI_AM_options(options, MPIDI_AM_OPTIONS_MAX);
    error[0] = '\0';
    if (!version_fits(error)) {
        return AM_ERR_INVALID;
    }
    status = am_open(&params, &MPIDI_AM_global.ctx[vci]);
    if (status == AM_OK) {
        MPIDI_AM_dead_open(vci);
    }
    if (status != AM_OK && error[0] == '\0') {
        MPL_strncpy(error, am_status_text(status), ERROR_BYTES);
    }
    MPIDI_AM_algorithm_error(error, ERROR_BYTES);
    return status;
}

int MPIDI_AM_world_open(void)
{
    struct exchange exchange = {.first_done = false,.failed_rank = -1 };
    struct card card = {.failed = 1 };
    char error[ERROR_BYTES];
    int mpi_errno = MPI_SUCCESS;

    if (open_context(0, world_allgather, &exchange, error) != AM_OK) {
        if (!exchange.first_done) {
            exchange_cards(&exchange, &card, NULL, 0);
        }
        if (exchange.failed_rank >= 0) {
            speak_and_end(&exchange, error);
        }
        MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_OTHER, "**am_open", "**am_open %s", error);
    }
    MPIDI_AM_global.n_ctx = 1;
    MPIDI_AM_algorithms_note();
    for (int i = 0; i < MPIR_Process.size; i++) {
        MPIDI_AM_AV(MPIDI_AM_world_av(i)) = (MPIDI_AM_addr_t) {.peer = (uint32_t) i };
    }
    mpi_errno = MPIDI_AM_client_open(0);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_AM_ft_open();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int comm_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    return MPIDI_AM_allgather(mine, all, bytes, MPIR_Process.comm_world) == MPI_SUCCESS ? 0 : -1;
}

/* Connect every vci of mine to every other vci of a rank; `peers` has room for n * n. */
static int connect_across(int n, int rank, const char *addresses, uint32_t *peers)
{
    for (int src = 0; src < n; src++) {
        for (int dst = 0; dst < n; dst++) {
            uint32_t *peer = &peers[src * n + dst];
            am_status_t status;

            if (src == dst) {
                *peer = (uint32_t) rank;
                continue;
            }
            status = am_connect(MPIDI_AM_global.ctx[src],
                                addresses + (size_t) (rank * n + dst) * AM_ADDRESS_BYTES, peer);
            if (status != AM_OK) {
                return MPIDI_AM_error(MPIDI_AM_global.ctx[src], status);
            }
        }
    }
    MPIDI_AM_AV(MPIDI_AM_world_av(rank)).all = peers;
    return MPI_SUCCESS;
}

int MPIDI_AM_vcis_open(int n)
{
    size_t bytes = (size_t) n * AM_ADDRESS_BYTES;
    char *mine = MPL_malloc(bytes, MPL_MEM_ADDRESS);
    char *all = MPL_malloc(bytes * (size_t) MPIR_Process.size, MPL_MEM_ADDRESS);
    char error[ERROR_BYTES];
    int mpi_errno = MPI_SUCCESS;

    MPIDI_AM_global.peers = MPL_malloc(sizeof(uint32_t) * n * n * MPIR_Process.size,
                                       MPL_MEM_ADDRESS);
    MPIR_Assertp(mine != NULL && all != NULL && MPIDI_AM_global.peers != NULL);
    for (int i = 1; i < n; i++) {
        if (open_context(i, comm_allgather, NULL, error) != AM_OK) {
            MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_OTHER, "**am_open", "**am_open %s", error);
        }
        mpi_errno = MPIDI_AM_client_open(i);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0; i < n; i++) {
        am_address(MPIDI_AM_global.ctx[i], mine + i * AM_ADDRESS_BYTES);
    }
    comm_allgather(NULL, mine, all, bytes);
    for (int rank = 0; rank < MPIR_Process.size; rank++) {
        mpi_errno = connect_across(n, rank, all, MPIDI_AM_global.peers + (size_t) rank * n * n);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_AM_global.n_ctx = n;

  fn_exit:
    MPL_free(mine);
    MPL_free(all);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_AM_world_close(void)
{
    MPIDI_AM_ft_close();
    MPIDI_AM_part_close();
    for (int i = 0; i < MPIDI_AM_global.n_ctx; i++) {
        am_close(MPIDI_AM_global.ctx[i]);
        MPIDI_AM_client_close(i);
        MPIDI_AM_global.ctx[i] = NULL;
    }
    MPIDI_AM_global.n_ctx = 0;
    MPL_free(MPIDI_AM_global.peers);
    MPIDI_AM_global.peers = NULL;
}

/* ------------------------------------------------------------ addresses for others */

int MPIDI_AM_get_local_upids(MPIR_Comm * comm, int **local_upid_size, char **local_upids)
{
    int n = comm->local_size;
    int mpi_errno = MPI_SUCCESS;
    size_t at = 0;

    *local_upid_size = MPL_malloc((size_t) n * sizeof(int), MPL_MEM_ADDRESS);
    *local_upids = MPL_malloc((size_t) n * AM_ADDRESS_BYTES, MPL_MEM_ADDRESS);
    MPIR_Assertp(*local_upid_size != NULL && *local_upids != NULL);
    for (int i = 0; i < n; i++) {
        am_status_t status = am_peer_address(MPIDI_AM_global.ctx[0],
                                             MPIDI_AM_peer(MPIDIU_comm_rank_to_av(comm, i), 0, 0),
                                             *local_upids + at);

        if (status != AM_OK) {
            mpi_errno = MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
            MPIR_ERR_CHECK(mpi_errno);
        }
        /* only what it says: a port's name has little room */
        (*local_upid_size)[i] = (int) am_address_bytes(*local_upids + at);
        at += (size_t) (*local_upid_size)[i];
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(*local_upid_size);
    MPL_free(*local_upids);
    *local_upid_size = NULL;
    *local_upids = NULL;
    goto fn_exit;
}

am_status_t MPIDI_AM_connect_upid(const char *upid, int bytes, uint32_t * peer)
{
    char address[AM_ADDRESS_BYTES] = { 0 };

    if (bytes < 0 || bytes > AM_ADDRESS_BYTES) {
        return AM_ERR_INVALID;
    }
    memcpy(address, upid, (size_t) bytes);
    return am_connect(MPIDI_AM_global.ctx[0], address, peer);
}
