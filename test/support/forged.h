/*
 * For tests of a peer that forges messages: three contexts of one process, of
 * which one can send to another whatever it likes, and what shows that this was
 * refused.
 */
#ifndef AM_TEST_SUPPORT_FORGED_H
#define AM_TEST_SUPPORT_FORGED_H

#include "support/msg_world.h"

#include "am/ctx.h"

enum {
    VICTIM,
    OWNER, /* whom the victim's operations go to */
    THIRD,
    RANKS,
    H_USER = AM_HANDLER_USER,
    BYTES = 100000
};

/* No single copy, and so little room that an operation waits for it. */
extern const struct am_option forged_tiny[];

/* A region of OWNER's and what the victim has to send. */
struct forged {
    struct world world;
    unsigned char *memory, *data;
    struct am_data local;
    struct am_region *region;
    struct am_key key;
    uint32_t called; /* times that H_USER has run, and its last payload */
    const void *called_data;
};

/* With these options (NULL: none) at each of the three. */
void forged_open(struct forged *scene, const struct am_option *option);
void forged_close(struct forged *scene);
/* The test fails if anybody has written to OWNER's region. */
void forged_untouched(const struct forged *scene);

/* A packet made up by `from`, which the addressee then polls. */
void forged_send(struct forged *scene, uint32_t from, uint32_t to,
                 uint32_t handler, uint32_t aux, const uint64_t *words,
                 uint32_t word_count, const void *data, size_t bytes);
/* The one handle of a kind that a context has given out. */
uint64_t forged_handle(struct am_ctx *ctx, am_handle_kind_t kind);
bool forged_has(struct am_ctx *ctx, am_handle_kind_t kind);
/* How many packets this rank has counted as bad. */
uint64_t forged_refused(struct forged *scene, uint32_t rank);

#endif
