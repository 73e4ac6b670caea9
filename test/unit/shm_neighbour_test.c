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
#include "support/neighbour.h"
#include "support/seed.h"

#include <am.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RUNS = 24,
    LIMIT_S = 60 /* of a run: a rank that is not at its end hangs */
};

struct neighbour_run neighbour_run;

static int rank_run(struct board *board, uint32_t rank)
{
    struct rank me = {.board = board, .rank = rank, .size = 3};
    const struct am_option options[] = {
            {"AM_LOG", "none"},
            {"AM_SHM_SLOTS", neighbour_run.seed % 2 == 0 ? "16" : "4"},
            {"AM_SHM_RING", "64k"},
            {"AM_PROTO", neighbour_run.protocol},
            {"AM_CHAN_GIVE_UP", "10"},
            {"AM_RELIABILITY", neighbour_run.reliability},
    };

    (void)alarm(LIMIT_S);
    if (rank_open(&me, options, neighbour_run.reliability == NULL ? 5 : 6) !=
        AM_OK) {
        return END_NO_START;
    }
    return rank == 2 ? neighbour_disturb(&me) : neighbour_talk(&me);
}

static void run_choose(uint64_t seed)
{
    static const char *const protocols[] = {"auto",   "eager", "buffered",
                                            "prefix", "get",   "put"};
    static const char *const reliabilities[] = {NULL, NULL, NULL, "nack",
                                                "timer"};
    struct am_prng prng;

    am_prng_seed(&prng, seed);
    neighbour_run.seed = seed;
    neighbour_run.word = (uint32_t)am_prng_below(&prng, WORD_COUNT);
    neighbour_run.protocol = protocols[am_prng_below(&prng, 6)];
    neighbour_run.reliability = reliabilities[am_prng_below(&prng, 5)];
    neighbour_run.writes = 1 + (uint32_t)am_prng_below(&prng, 4);
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
        return neighbour_run.word >= WORD_PLACE &&
               neighbour_run.reliability == NULL;
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
                   neighbour_run.seed, words[neighbour_run.word],
                   neighbour_run.protocol,
                   neighbour_run.reliability == NULL
                           ? "none"
                           : neighbour_run.reliability,
                   rank, code);
            good = false;
        } else if (rank < 2) {
            ends[neighbour_run.word][neighbour_run.reliability != NULL][code]++;
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
            neighbour_run.word =
                    (uint32_t)strtoul(argv[3], NULL, 0) % WORD_COUNT;
        }
        bad += !run_one();
        fflush(stdout);
    }
    print_ends();
    printf("%u runs from seed %" PRIu64 ", %u bad\n", runs, first, bad);
    return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
