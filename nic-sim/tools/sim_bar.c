/*
 * am_sim's progress bar, on stderr: how much is done, where that is known, and
 * how far virtual time has come.
 */
#include "tools/sim.h"

#include <inttypes.h>

enum {
    WIDTH = 40,
    LINE = WIDTH + 60
};

static struct {
    uint64_t done, total; /* of runs, packets...; total 0: not known */
    bool drawn;
} bar;

void sim_bar_clear(void)
{
    if (bar.drawn) {
        fprintf(stderr, "\r%*s\r", LINE, "");
        fflush(stderr);
        bar.drawn = false;
    }
}

void sim_bar_part(uint64_t done, uint64_t total)
{
    bar.done = done;
    bar.total = total;
}

void sim_bar_tick(void *arg, uint64_t virtual_ps)
{
    (void)arg;
    fputc('\r', stderr);
    if (bar.total != 0) {
        fputc('[', stderr);
        for (uint64_t i = 0; i < WIDTH; i++) {
            fputc(i * bar.total < bar.done * WIDTH ? '#' : ' ', stderr);
        }
        fprintf(stderr, "] %" PRIu64 " of %" PRIu64 ", ", bar.done, bar.total);
    }
    fprintf(stderr, "%.3f ms simulated", (double)virtual_ps / 1e9);
    fflush(stderr);
    bar.drawn = true;
}

void sim_progress(const struct sim_options *options, uint32_t done,
                  uint32_t total, uint64_t virtual_ps)
{
    if (!options->progress) {
        return;
    }
    sim_bar_part(done, total);
    if (done == total) {
        sim_bar_clear();
    } else {
        sim_bar_tick(NULL, virtual_ps);
    }
}
