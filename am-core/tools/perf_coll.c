/*
 * What the tests need over all ranks: gather a few words from each, and a
 * barrier.  Made of requests alone, so that it runs wherever a context does.
 *
 * A rank is never more than one gather ahead of another, because it waits for
 * everybody's words; so two sets of slots, by parity, are enough.
 */
#include "tools/perf.h"

#include <stdlib.h>
#include <string.h>

static void on_words(struct am_token *token, const uint64_t *words,
                     uint32_t word_count, void *data, size_t bytes)
{
    struct perf *perf = am_token_arg(token);
    uint32_t source = am_token_source(token);
    struct perf_coll *coll;
    uint32_t parity;

    (void)data;
    (void)bytes;
    if (word_count == 0 || word_count > PERF_GATHER_WORDS_MAX + 1 ||
        source >= perf->size) {
        return;
    }
    coll = &perf->coll[words[0] & 1];
    parity = words[0] >> 1 & 1;
    memcpy(coll->words[parity] + (size_t)source * PERF_GATHER_WORDS_MAX,
           words + 1, (word_count - 1) * sizeof(*words));
    coll->arrived[parity]++;
}

int perf_coll_open(struct perf *perf)
{
    size_t count = (size_t)perf->size * PERF_GATHER_WORDS_MAX;

    for (int i = 0; i < 4; i++) {
        uint64_t *words = calloc(count, sizeof(*words));

        if (words == NULL) {
            return perf_fail(perf, "out of memory for %u ranks", perf->size);
        }
        perf->coll[i / 2].words[i % 2] = words;
    }
    return perf_handler(perf, PERF_HANDLER_GATHER, on_words, perf, "gather");
}

void perf_coll_close(struct perf *perf)
{
    for (int i = 0; i < 4; i++) {
        free(perf->coll[i / 2].words[i % 2]);
    }
}

/* Tell my words to the other ranks of the group. */
static int tell(struct perf *perf, const uint64_t *mine, uint32_t count,
                uint32_t group)
{
    uint64_t words[AM_WORDS_MAX];

    words[0] = perf->coll[perf->pair].sequence * 2 + perf->pair;
    memcpy(words + 1, mine, count * sizeof(*mine));
    for (uint32_t i = 1; i < group; i++) {
        am_status_t status =
                am_ctx_request(perf->ctx, (perf->rank + i) % group,
                               PERF_HANDLER_GATHER, words, count + 1, NULL, 0);

        if (perf_ok(perf, status, "gathering") != 0) {
            return -1;
        }
    }
    return 0;
}

int perf_gather(struct perf *perf, const uint64_t *mine, uint32_t count,
                uint64_t *all)
{
    struct perf_coll *coll = &perf->coll[perf->pair];
    uint32_t group = perf->pair ? 2 : perf->size;
    uint32_t parity = coll->sequence & 1;

    if (tell(perf, mine, count, group) != 0) {
        return -1;
    }
    while (coll->arrived[parity] < group - 1) {
        if (perf_wait(perf) != 0) {
            return -1;
        }
    }
    coll->arrived[parity] = 0;
    coll->sequence++;
    for (uint32_t i = 0; i < group; i++) {
        const uint64_t *theirs =
                coll->words[parity] + (size_t)i * PERF_GATHER_WORDS_MAX;

        memcpy(all + (size_t)i * count, i == perf->rank ? mine : theirs,
               count * sizeof(*all));
    }
    return 0;
}

int perf_barrier(struct perf *perf)
{
    uint64_t none = 0;

    return perf_gather(perf, &none, 0, &none);
}
