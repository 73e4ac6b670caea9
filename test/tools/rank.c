/*
 * One rank of a job that gets into trouble on purpose; rank_test.py starts it.
 *
 *   rank idle SECONDS   rank 1 waits in a receive, prints its share of a core
 *   rank die            the last rank kills itself; the others say what they see
 *   rank cut            rank 0 sends to rank 1, whom nothing reaches
 *   rank again COUNT    open, ring of messages, close, COUNT times over
 *   rank close          half of the ranks end at once, the others much later
 *   rank memory         talk to nobody; print the bytes that this rank holds:
 *                       of malloc, and of pages shared with others
 */
#include <am.h>
#include <am_msg.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    HANG_S = 60 /* no bar for speed: others may want the cores */
};

static double wall_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double cpu_s(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static void pause_s(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};

    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    while (nanosleep(&time, &time) != 0) {
    }
}

static int fail(const char *what)
{
    fprintf(stderr, "rank %u: %s\n", am_rank(am_default()), what);
    return EXIT_FAILURE;
}

static void on_received(void *arg, const struct am_msg_status *status)
{
    *(int *)arg = status->status == AM_OK ? 1 : -1;
}

/* Wait for an empty message with this tag from any rank. */
static int receive(uint32_t tag)
{
    struct am_ctx *ctx = am_default();
    struct am_msg_envelope envelope = {.tag = tag};
    struct am_msg_mask mask = {UINT32_MAX, 0, UINT32_MAX};
    struct am_data data = am_data_contig(NULL, 0);
    struct am_msg_status status;
    struct am_msg_req *req;
    int done = 0;
    am_status_t result = am_msg_irecv(ctx, &envelope, &mask, &data, on_received,
                                      &done, &status, &req);

    while (result == AM_OK && done == 0) {
        if (am_ctx_poll_wait(ctx) < 0) {
            return -1;
        }
    }
    return result >= 0 && done >= 0 ? 0 : -1;
}

static int send(uint32_t dest, uint32_t tag)
{
    struct am_ctx *ctx = am_default();
    struct am_msg_envelope envelope = {.source = am_rank(ctx), .tag = tag};
    struct am_data data = am_data_contig(NULL, 0);
    struct am_msg_req *req;
    int done = 0;
    am_status_t result = am_msg_isend(ctx, dest, &envelope, &data, 0,
                                      on_received, &done, &req);

    while (result == AM_OK && done == 0) {
        if (am_ctx_poll_wait(ctx) < 0) {
            return -1;
        }
    }
    return result >= 0 && done >= 0 ? 0 : -1;
}

static int run_idle(double seconds)
{
    double wall, cpu;

    if (am_rank(am_default()) != 1) {
        pause_s(seconds);
        if (am_rank(am_default()) == 0 && send(1, 5) != 0) {
            return fail("cannot send");
        }
        am_fini();
        return EXIT_SUCCESS;
    }
    wall = wall_s();
    cpu = cpu_s();
    if (receive(5) != 0) {
        return fail("cannot receive");
    }
    cpu = cpu_s() - cpu;
    wall = wall_s() - wall;
    printf("%.6f %.3f\n", cpu / wall, wall);
    am_fini();
    return EXIT_SUCCESS;
}

static int run_die(void)
{
    struct am_ctx *ctx = am_default();
    uint32_t last = am_size(ctx) - 1;
    double start;

    /* Everybody has talked to the victim, and is told that all have. */
    if (am_rank(ctx) == last) {
        for (uint32_t i = 0; i < last; i++) {
            if (receive(6) != 0) {
                return fail("cannot receive");
            }
        }
    } else if (send(last, 6) != 0) {
        return fail("cannot send");
    }
    if (am_barrier() != AM_OK) {
        return fail("no barrier");
    }
    start = wall_s();
    if (am_rank(ctx) == last) { /* when nobody waits in the barrier any more */
        for (uint32_t i = 0; i < last; i++) {
            if (receive(9) != 0) {
                return fail("cannot receive");
            }
        }
        raise(SIGKILL);
    }
    if (send(last, 9) != 0) {
        return fail("cannot send");
    }
    while (am_ctx_poll_wait(ctx) >= 0) {
        if (wall_s() - start > HANG_S) {
            return fail("the death was not noticed");
        }
    }
    printf("%.3f %s\n", wall_s() - start, am_error_text(ctx));
    am_fini();
    return EXIT_SUCCESS;
}

static int run_cut(void)
{
    struct am_ctx *ctx = am_default();
    double start = wall_s();

    if (am_rank(ctx) == 1) { /* alive, and silent as far as rank 0 can tell */
        while (wall_s() - start < 3) {
            (void)am_ctx_poll(ctx);
        }
        _exit(EXIT_SUCCESS); /* rank 0 will come to no barrier */
    }
    if (send(1, 8) == 0) { /* it is in the window at once */
        while (am_ctx_poll_wait(ctx) >= 0) {
            if (wall_s() - start > 20) {
                return fail("rank 1 was waited for");
            }
        }
    }
    printf("%.3f %s\n", wall_s() - start, am_error_text(ctx));
    am_fini();
    return EXIT_SUCCESS;
}

static int run_again(int count)
{
    for (int i = 0; i < count; i++) {
        struct am_ctx *ctx = am_default();
        uint32_t right = (am_rank(ctx) + 1) % am_size(ctx);

        if (send(right, 7) != 0 || receive(7) != 0) {
            return fail("no ring");
        }
        am_fini();
        if (am_default() != NULL) {
            return fail("a context is left");
        }
        if (i + 1 < count && am_init() != AM_OK) {
            return fail(am_init_error());
        }
    }
    printf("again\n");
    return EXIT_SUCCESS;
}

static int run_close(void)
{
    if (am_rank(am_default()) % 2 == 1) {
        pause_s(0.5);
    }
    am_fini();
    printf("closed\n");
    return EXIT_SUCCESS;
}

/* Kilobytes of shared memory, each page divided by the processes that map it;
 * a job's ranks share one segment. */
static long shared_kb(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    long kb = -1;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "Pss_Shmem:", 10) == 0) {
            kb = atol(line + 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb;
}

static int run_memory(void)
{
    struct mallinfo2 info = mallinfo2();

    if (am_barrier() != AM_OK) { /* all ranks share the pages */
        return fail("no barrier");
    }
    printf("%zu %ld\n", info.uordblks + info.hblkhd, shared_kb() * 1024);
    if (am_barrier() != AM_OK) {
        return fail("no barrier");
    }
    am_fini();
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    double number = argc > 2 ? atof(argv[2]) : 0;

    if (argc < 2) {
        return 2;
    }
    if (am_init() != AM_OK) {
        fprintf(stderr, "%s\n", am_init_error());
        return EXIT_FAILURE;
    }
    if (strcmp(argv[1], "idle") == 0) {
        return run_idle(number);
    }
    if (strcmp(argv[1], "die") == 0) {
        return run_die();
    }
    if (strcmp(argv[1], "cut") == 0) {
        return run_cut();
    }
    if (strcmp(argv[1], "again") == 0) {
        return run_again((int)number);
    }
    if (strcmp(argv[1], "memory") == 0) {
        return run_memory();
    }
    return strcmp(argv[1], "close") == 0 ? run_close() : 2;
}
