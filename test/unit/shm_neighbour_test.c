/*
 * A neighbour writes into the shared memory of two ranks that talk: three
 * processes of one job, of which 0 and 1 exchange checked messages by every
 * protocol and checked requests, while 2, who has mapped the segment as well,
 * writes words at random and with knowledge of the layout.
 *
 *   shm_neighbour_test [RUNS [SEED [WORD]]]     24 runs; 10000 by hand
 *
 * What is promised of each run, and looked at:
 * - No rank crashes, and each ends by itself.  A run is repeated with its seed,
 *   but for the moments at which the neighbour writes.
 * - A word that lanes consist of (control words, heads, tails, bitmaps, what the
 *   ranks tell of themselves, the header): both ranks end with the right
 *   answers, or with an error that names the other.
 * - A word of a message, in its slot or in the ring, and a place that is told in
 *   such a word: libam has no checksum unless AM_RELIABILITY asks for one.  Then
 *   it is as above.  Without, what arrives may be wrong or not arrive; the check
 *   here tells it, by the payload or by waiting in vain.
 * - A wrong payload, which a head that is written over can also bring about (its
 *   sender then writes over what is not yet taken), is told by the check here,
 *   and never taken for a right one.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"
#include "dev/wrap.h"

#include <am.h>
#include <am_msg.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RUNS = 24,
    MESSAGES = 40,
    BYTES_MAX = 150000,
    REQUEST_MAX = 3000,
    LIMIT_S = 60,    /* of a run: a rank that is not at its end hangs */
    WATCH_MS = 2000, /* without news a rank says that it waits in vain */
    H_PING = AM_HANDLER_USER,
    H_PONG
};

/* How a rank ends. */
enum {
    END_RIGHT = 0,
    END_TOLD = 10, /* by an error that names the other rank */
    END_WRONG,     /* by the check: a wrong payload */
    END_VAIN,      /* by the check: what was sent does not come */
    END_STOPPED,   /* the other's check has told */
    END_BAD_ERROR, /* by an error that names nobody */
    END_NO_START,
    END_COUNT
};

enum {
    FLAG_STARTED,
    FLAG_ENDED,
    FLAG_CHECKED /* a check has told */
};

/* What is written: parts of lanes, or of messages. */
enum {
    WORD_CTL,
    WORD_HEAD,
    WORD_TAIL,
    WORD_BITMAP,
    WORD_RANK,
    WORD_HEADER,
    WORD_PLACE, /* from here on, of messages */
    WORD_MESSAGE,
    WORD_COUNT
};

static struct {
    uint64_t seed;
    uint32_t word; /* of the above */
    const char *protocol, *reliability;
    uint32_t writes;
} run;

/* ------------------------------------------------------------------ traffic */

struct message {
    int ended;
    struct am_msg_status status;
    struct am_msg_req *req;
    char *memory;
    size_t bytes;
};

static struct {
    struct rank *me;
    uint32_t sent, sent_ended, received, requests, news;
    struct message messages[MESSAGES];
    char *payload[MESSAGES];
    bool wrong;
} traffic;

static size_t message_bytes(uint32_t from, uint32_t number)
{
    struct am_prng prng;

    am_prng_seed(&prng, run.seed + 1000 * from + number);
    return (size_t)am_prng_below(&prng, am_prng_below(&prng, 3) == 0 ? BYTES_MAX
                                                                     : 600);
}

/* Byte `at` of message or request `number` of a rank. */
static char pattern(uint32_t from, uint32_t number, size_t at)
{
    return (char)((from + 1) * 31 + number * 7 + at + at / 251);
}

static void fill(char *to, uint32_t from, uint32_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = pattern(from, number, i);
    }
}

static bool is_right(const char *at, uint32_t from, uint32_t number,
                     size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != pattern(from, number, i)) {
            return false;
        }
    }
    return true;
}

static void check_words(const uint64_t *words, uint32_t count, uint64_t number,
                        uint32_t from, const char *data, size_t bytes)
{
    if (count != 2 || words[0] != number || words[1] != ~number ||
        bytes != number * 37 % REQUEST_MAX ||
        !is_right(data, from, (uint32_t)number, bytes)) {
        traffic.wrong = true;
    }
}

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);
    uint64_t answer[2] = {me->pings, ~me->pings};

    check_words(words, count, me->pings, 1 - me->rank, data, bytes);
    me->pings++;
    traffic.news++;
    (void)am_token_reply(token, H_PONG, answer, 2, NULL, 0);
}

static void on_pong(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    if (count != 2 || words[0] != me->pongs || words[1] != ~me->pongs ||
        bytes != 0) {
        traffic.wrong = true;
    }
    me->pongs++;
    traffic.news++;
}

static void on_sent(void *arg, const struct am_msg_status *status)
{
    traffic.sent_ended++;
    traffic.news++;
}

static void on_received(void *arg, const struct am_msg_status *status)
{
    struct message *message = arg;
    uint32_t number = (uint32_t)(message - traffic.messages);

    message->ended++;
    traffic.received++;
    traffic.news++;
    if (status->status == AM_ERR_PEER) {
        return; /* the poll says why */
    }
    if (message->ended != 1 || status->status != AM_OK ||
        status->bytes != message->bytes ||
        status->bytes_sent != message->bytes ||
        status->envelope.tag != number ||
        !is_right(message->memory, 1 - traffic.me->rank, number,
                  message->bytes)) {
        traffic.wrong = true;
    }
}

static am_status_t post_all(struct rank *me)
{
    struct am_msg_mask exact = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct message *message = &traffic.messages[i];
        struct am_msg_envelope envelope = {.source = 1 - me->rank, .tag = i};
        struct am_data data;
        am_status_t status;

        message->bytes = message_bytes(1 - me->rank, i);
        message->memory = calloc(1, message->bytes + 1);
        data = am_data_contig(message->memory, message->bytes);
        status = am_msg_irecv(me->ctx, &envelope, &exact, &data, on_received,
                              message, &message->status, &message->req);
        if (status == AM_DONE) {
            on_received(message, &message->status);
        } else if (status != AM_OK) {
            return status;
        }
    }
    return AM_OK;
}

/* One more message and request, if it is time. */
static am_status_t send_more(struct rank *me, struct am_prng *prng)
{
    static char request[REQUEST_MAX];
    am_status_t status = AM_OK;

    if (traffic.sent < MESSAGES && am_prng_below(prng, 4) == 0) {
        struct am_msg_envelope envelope = {.source = me->rank,
                                           .tag = traffic.sent};
        size_t bytes = message_bytes(me->rank, traffic.sent);
        char *memory = malloc(bytes + 1);
        struct am_data data = am_data_contig(memory, bytes);
        struct am_msg_req *req;

        fill(memory, me->rank, traffic.sent, bytes);
        traffic.payload[traffic.sent++] = memory;
        status = am_msg_isend(me->ctx, 1 - me->rank, &envelope, &data, 0,
                              on_sent, NULL, &req);
        traffic.sent_ended += status == AM_DONE;
    }
    if (status >= 0 && traffic.requests < MESSAGES) {
        uint64_t words[2] = {traffic.requests, ~(uint64_t)traffic.requests};
        size_t bytes = traffic.requests * 37 % REQUEST_MAX;

        fill(request, me->rank, traffic.requests, bytes);
        status = am_ctx_try_request(me->ctx, 1 - me->rank, H_PING, words, 2,
                                    request, bytes);
        traffic.requests += status == AM_OK;
    }
    return status == AM_ERR_AGAIN || status > 0 ? AM_OK : status;
}

/* An error must be of the peer, and say its name; then all else fails, too. */
static int judge_error(struct rank *me, int status)
{
    uint64_t words[2] = {0, 0};
    char name[16];

    snprintf(name, sizeof(name), "rank %u", 1 - me->rank);
    return status == AM_ERR_PEER &&
                           strstr(am_error_text(me->ctx), name) != NULL &&
                           am_ctx_try_request(me->ctx, 1 - me->rank, H_PING,
                                              words, 2, NULL, 0) == AM_ERR_PEER
                   ? END_TOLD
                   : END_BAD_ERROR;
}

static bool all_is_done(const struct rank *me)
{
    return traffic.received == MESSAGES && traffic.sent_ended == MESSAGES &&
           me->pings == MESSAGES && me->pongs == MESSAGES;
}

/* Until all is exchanged, or the first error. */
static int exchange(struct rank *me)
{
    struct am_prng prng;
    uint64_t news_ps = am_env_now(am_env_real());
    uint32_t news = 0;

    am_prng_seed(&prng, run.seed ^ me->rank);
    for (;;) {
        int status = send_more(me, &prng);

        if (status == AM_OK) {
            status = am_ctx_poll_wait(me->ctx);
        }
        if (traffic.wrong) {
            return END_WRONG;
        }
        if (status < 0) {
            return judge_error(me, status);
        }
        if (all_is_done(me)) {
            return END_RIGHT;
        }
        if (atomic_load(&me->board->flag[FLAG_CHECKED]) != 0) {
            return END_STOPPED;
        }
        if (traffic.news != news) {
            news = traffic.news;
            news_ps = am_env_now(am_env_real());
        } else if (run.word >= WORD_PLACE && run.reliability == NULL &&
                   am_env_now(am_env_real()) - news_ps >
                           WATCH_MS * UINT64_C(1000000000)) {
            return END_VAIN;
        }
    }
}

/* A start that is disturbed ends when AM_CONNECT_TIMEOUT says. */
static void all_start(struct rank *me)
{
    atomic_fetch_add(&me->board->flag[FLAG_STARTED], 1);
    while (atomic_load(&me->board->flag[FLAG_STARTED]) < 3) {
        sched_yield();
    }
}

static int talk(struct rank *me)
{
    int end;

    traffic.me = me;
    am_handler_register(me->ctx, H_PING, on_ping, me, "ping");
    am_handler_register(me->ctx, H_PONG, on_pong, me, "pong");
    all_start(me);
    end = post_all(me) == AM_OK ? exchange(me) : END_BAD_ERROR;
    if (end == END_WRONG || end == END_VAIN) {
        atomic_store(&me->board->flag[FLAG_CHECKED], 1);
    }
    /* the other one needs me to tell it, or is told by the clock */
    atomic_fetch_add(&me->board->flag[FLAG_ENDED], 1);
    while (atomic_load(&me->board->flag[FLAG_ENDED]) < 2) {
        (void)am_ctx_poll_wait(me->ctx);
    }
    am_close(me->ctx);
    return end;
}

/* ---------------------------------------------------------------- neighbour */

struct view {
    struct shm_seg *seg;
    struct am_prng prng;
};

static char *lane_at(struct view *view)
{
    uint32_t to = (uint32_t)am_prng_below(&view->prng, 2);

    return view->seg->base + view->seg->geometry.lanes +
           ((uint64_t)to * view->seg->header.count + 1 - to) *
                   view->seg->geometry.lane_bytes;
}

static struct shm_slot *slot_at(struct view *view)
{
    uint32_t class = (uint32_t)am_prng_below(&view->prng, 2);

    return (struct shm_slot *)(lane_at(view) +
                               view->seg->geometry.slots[class]) +
           am_prng_below(&view->prng, view->seg->header.depth[class]);
}

static uint64_t odd_number(struct view *view, uint64_t old)
{
    switch (am_prng_below(&view->prng, 7)) {
    case 0:
        return am_prng_next(&view->prng);
    case 1:
        return 0;
    case 2:
        return UINT64_MAX;
    case 3:
        return old + 1 + am_prng_below(&view->prng, 300);
    case 4:
        return old - 1 - am_prng_below(&view->prng, 300);
    default:
        return old ^ UINT64_C(1) << am_prng_below(&view->prng, 64);
    }
}

/* A word of the lanes that is not a message's. */
static void write_ctl(struct view *view)
{
    _Atomic uint64_t *ctl = &slot_at(view)->ctl;
    uint64_t old = atomic_load(ctl);

    switch (am_prng_below(&view->prng, 4)) {
    case 0: /* the stamp: the lap before, or the next */
        atomic_store((_Atomic uint32_t *)ctl,
                     (uint32_t)old - 1 +
                             2 * (uint32_t)am_prng_below(&view->prng, 2));
        break;
    case 1: /* one of the other fields */
        atomic_store((_Atomic uint8_t *)ctl + 4 + am_prng_below(&view->prng, 4),
                     (uint8_t)am_prng_next(&view->prng));
        break;
    default:
        atomic_store(ctl, odd_number(view, old));
    }
}

static void write_number(struct view *view, void *at)
{
    _Atomic uint64_t *word = at;

    atomic_store(word, odd_number(view, atomic_load(word)));
}

static void write_rank(struct view *view)
{
    struct shm_rank *rank =
            shm_seg_rank(view->seg, (uint32_t)am_prng_below(&view->prng, 3));

    switch (am_prng_below(&view->prng, 6)) {
    case 0:
        atomic_store(&rank->state, SHM_RANK_CLOSED);
        break;
    case 1:
        atomic_store(&rank->pid, 0);
        break;
    case 2:
        atomic_store(&rank->attached, 0);
        break;
    default:
        write_number(view, (uint64_t *)rank + am_prng_below(&view->prng,
                                                            sizeof(*rank) / 8));
    }
}

static void write_word(struct view *view)
{
    const struct shm_geometry *geometry = &view->seg->geometry;
    struct am_prng *prng = &view->prng;
    uint32_t class = (uint32_t)am_prng_below(prng, 2);

    switch (run.word) {
    case WORD_CTL:
        write_ctl(view);
        break;
    case WORD_HEAD:
        write_number(view, (struct shm_head *)lane_at(view) + class);
        write_number(view,
                     &((struct shm_head *)lane_at(view))[class].data_bytes);
        break;
    case WORD_TAIL:
        write_number(view,
                     lane_at(view) + SHM_TAIL_AT + 8 * am_prng_below(prng, 3));
        break;
    case WORD_BITMAP:
        write_number(view,
                     view->seg->base + geometry->bitmaps +
                             am_prng_below(prng, 3) * geometry->bitmap_bytes);
        break;
    case WORD_RANK:
        write_rank(view);
        break;
    case WORD_HEADER:
        write_number(view,
                     view->seg->base + 8 * am_prng_below(prng, SHM_PAGE / 8));
        break;
    case WORD_PLACE:
        write_number(view, &slot_at(view)->u.ext.place);
        break;
    default:
        if (am_prng_below(prng, 2) == 0) {
            write_number(view, &slot_at(view)->u.w[am_prng_below(prng, 7)]);
        } else {
            write_number(
                    view,
                    lane_at(view) + geometry->data[class] +
                            8 * am_prng_below(
                                        prng,
                                        view->seg->header.ring_bytes[class] /
                                                8));
        }
    }
}

static struct shm_dev *shm_under(struct am_dev *dev)
{
    return shm_dev_of(run.reliability == NULL ? dev : am_wrap_of(dev)->lower);
}

static int disturb(struct rank *me)
{
    struct view view = {.seg = shm_under(me->ctx->devs[0])->job};
    uint64_t at_ps;

    am_prng_seed(&view.prng, ~run.seed);
    all_start(me);
    for (uint32_t i = 0; i < run.writes; i++) {
        at_ps = am_env_now(am_env_real()) +
                am_prng_below(&view.prng, UINT64_C(2000000000));
        while (am_env_now(am_env_real()) < at_ps) {
            sched_yield();
        }
        write_word(&view);
    }
    while (atomic_load(&me->board->flag[FLAG_ENDED]) < 2) {
        usleep(1000);
    }
    am_close(me->ctx);
    return END_RIGHT;
}

/* --------------------------------------------------------------------- runs */

static int rank_run(struct board *board, uint32_t rank)
{
    struct rank me = {.board = board, .rank = rank, .size = 3};
    const struct am_option options[] = {
            {"AM_LOG", "none"},
            {"AM_SHM_SLOTS", run.seed % 2 == 0 ? "16" : "4"},
            {"AM_SHM_RING", "64k"},
            {"AM_PROTO", run.protocol},
            {"AM_CHAN_GIVE_UP", "10"},
            {"AM_RELIABILITY", run.reliability},
    };

    (void)alarm(LIMIT_S);
    if (rank_open(&me, options, run.reliability == NULL ? 5 : 6) != AM_OK) {
        return END_NO_START;
    }
    return rank == 2 ? disturb(&me) : talk(&me);
}

static void run_choose(uint64_t seed)
{
    static const char *const protocols[] = {"auto",   "eager", "buffered",
                                            "prefix", "get",   "put"};
    static const char *const reliabilities[] = {NULL, NULL, NULL, "nack",
                                                "timer"};
    struct am_prng prng;

    am_prng_seed(&prng, seed);
    run.seed = seed;
    run.word = (uint32_t)am_prng_below(&prng, WORD_COUNT);
    run.protocol = protocols[am_prng_below(&prng, 6)];
    run.reliability = reliabilities[am_prng_below(&prng, 5)];
    run.writes = 1 + (uint32_t)am_prng_below(&prng, 4);
}

static const char *const words[] = {"control", "head",   "tail",  "bitmap",
                                    "rank",    "header", "place", "message"};

/* How often ranks 0 and 1 have ended how, by what was written. */
static uint32_t ends[WORD_COUNT][2][END_COUNT];

static bool is_allowed(int code)
{
    switch (code) {
    case END_RIGHT:
    case END_TOLD:
    case END_WRONG:
    case END_STOPPED:
        return true;
    case END_VAIN:
        return run.word >= WORD_PLACE && run.reliability == NULL;
    default:
        return false;
    }
}

/* One run; false when a promise was not kept. */
static bool run_one(void)
{
    struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[3];
    bool good = true;

    for (uint32_t rank = 0; rank < 3; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0) {
            _exit(rank_run(board, rank));
        }
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        int status = 0, code;

        (void)waitpid(pids[rank], &status, 0);
        code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        if (code < 0 || code >= END_COUNT || !is_allowed(code)) {
            printf("FAIL: seed %" PRIu64 ", word %s, protocol %s, reliability "
                   "%s: rank %u ended with %d\n",
                   run.seed, words[run.word], run.protocol,
                   run.reliability == NULL ? "none" : run.reliability, rank,
                   code);
            good = false;
        } else if (rank < 2) {
            ends[run.word][run.reliability != NULL][code]++;
        }
    }
    munmap(board, sizeof(*board));
    return good;
}

static void print_ends(void)
{
    printf("ranks, by what was written: right, told, wrong payload seen, "
           "waited in vain, stopped by the other's check\n");
    for (uint32_t word = 0; word < WORD_COUNT; word++) {
        for (int with = 0; with < 2; with++) {
            const uint32_t *end = ends[word][with];

            printf("  %-8s%-15s %6u %6u %6u %6u %6u\n", words[word],
                   with != 0 ? " with checksums" : "", end[END_RIGHT],
                   end[END_TOLD], end[END_WRONG], end[END_VAIN],
                   end[END_STOPPED]);
        }
    }
}

int main(int argc, char **argv)
{
    uint32_t runs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : RUNS;
    uint32_t bad = 0;
    uint64_t first;

    if (argc > 2) {
        first = strtoull(argv[2], NULL, 0);
    } else {
        first = test_prng("shm_neighbour_test").state;
    }
    for (uint32_t i = 0; i < runs; i++) {
        run_choose(first + i);
        if (argc > 3) {
            run.word = (uint32_t)strtoul(argv[3], NULL, 0) % WORD_COUNT;
        }
        bad += !run_one();
        fflush(stdout);
    }
    print_ends();
    printf("%u runs from seed %" PRIu64 ", %u bad\n", runs, first, bad);
    return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
