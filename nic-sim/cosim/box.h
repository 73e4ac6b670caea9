/*
 * What the engine and one rank's process share: the turn, and what goes with
 * it.  Only who has the turn runs, and only it touches the rest, so that a run
 * over processes is the same as one over fibers.
 *
 *   [ struct ns_box | room of the host's memory: memory, cache, lines, pins ]
 *
 *   rank   ..runs.. ask            ......waits......           ..runs..
 *   engine ......waits......  serve, other ranks, NICs, answer ..waits..
 *
 * Includes libc and the host's headers only: a part of libam as well.
 */
#ifndef NS_COSIM_BOX_H
#define NS_COSIM_BOX_H

#include "host/ahead.h"
#include "host/cpu.h"

#include <stdatomic.h>

#define NS_BOX_MAGIC UINT32_C(0x6e734206) /* and the layout's version */

enum {
    NS_BOX_RECORDS = 128,
    NS_BOX_DATA = 8192, /* of one run of stores */
    NS_BOX_FACTS = 512,
    NS_BOX_POSTS = 32768, /* of the list of posts */
};

typedef enum {
    NS_TURN_ENGINE,
    NS_TURN_RANK,
} ns_turn_t;

/* What the rank wants. */
typedef enum {
    NS_ASK_SYNC,    /* wait until the engine's time is its own */
    NS_ASK_ACCESS,  /* `access` */
    NS_ASK_WRITE,   /* `data` to access.reg */
    NS_ASK_LOAD,    /* shared memory at access.reg, into `data` */
    NS_ASK_JUMP,    /* ns_host_jump */
    NS_ASK_ROOM,    /* nothing but room for records, or for posts */
    NS_ASK_COMPUTE, /* a: ps */
    NS_ASK_GATHER,  /* a: mine, b: all, c: bytes of each */
    NS_ASK_MEET,    /* ns_sim_meet begins */
    NS_ASK_HANDLED, /* the interrupt's function has returned */
    NS_ASK_OUTSIDE, /* it waits for what is no part of the simulation: keeps
                     * the turn, and so may do nothing but ask again */
    NS_ASK_ABORT,   /* ns_sim_abort */
    NS_ASK_END,     /* the program is over */
    NS_ASK_COUNT
} ns_ask_t;

/* What it gets with its turn. */
typedef enum {
    NS_ANSWER_GO,        /* it is done */
    NS_ANSWER_INTERRUPT, /* call the interrupt's function first */
    NS_ANSWER_TELL,      /* write to `data` what the program waits for */
    NS_ANSWER_STOP,      /* the run is over: end at once */
} ns_answer_t;

/* The kinds of records: ns_trace_t, ns_stage_t, slices of the program. */
enum {
    NS_BOX_STAGE = NS_TRACE_COUNT,                  /* and more */
    NS_BOX_BEGIN = NS_TRACE_COUNT + NS_STAGE_COUNT, /* a: name, b: its length */
    NS_BOX_END,                                     /* the same */
    NS_BOX_KINDS
};

struct ns_box_record {
    uint64_t time_ps, a, b;
    uint32_t kind;
};

struct ns_box {
    _Atomic uint32_t turn; /* ns_turn_t; a futex */
    uint32_t magic;
    int32_t engine; /* process */
    /* with each turn, both ways: struct ns_cpu's fields of the same names */
    uint64_t now_ps, stolen_ps;
    struct ns_idle idle;
    /* with the rank's turn */
    uint32_t answer;
    uint32_t value;      /* of a load */
    uint64_t met, meets; /* arrivals at ns_sim_meet; how many it waits for */
    struct ns_ahead ahead;
    struct ns_access steady; /* the last register that the rank has loaded, and
                              * its value now; bytes 0: it may be another soon */
    uint64_t limit_ps;
    /* with the engine's turn */
    uint32_t ask;
    struct ns_access access;
    uint64_t a, b, c;
    bool interrupts;   /* the program wants them */
    uint64_t accesses; /* of its port, that were done by the rank itself */
    uint32_t record_count;
    struct ns_box_record records[NS_BOX_RECORDS];
    uint8_t data[NS_BOX_DATA];
    /* to be done before what is asked for: cosim/post.h.  now_ps is the time of
     * the first then, and tail_ps the rank's own time after the last; `idle` is
     * that after the first known_bytes of them */
    uint32_t post_bytes, known_bytes;
    uint64_t tail_ps;
    _Alignas(8) uint8_t posts[NS_BOX_POSTS];
    /* the same all the time */
    struct ns_host_settings cost;
    char nic[16];
    uint32_t node, nodes;
    uint32_t memory_bytes, coherent, no_jump;
    uint64_t random;
    uint64_t operation_ps, measured; /* as ns_sim_params' */
    bool slices;                     /* the timeline wants them */
    _Alignas(16) uint8_t facts[NS_BOX_FACTS];
};

/* Bytes of a box with its room; where the room begins. */
size_t ns_box_bytes(uint32_t memory_bytes, uint32_t line_bytes, bool coherent);
uint8_t *ns_box_room(struct ns_box *box);

/* Give the turn to `to`. */
void ns_box_give(struct ns_box *box, ns_turn_t to);

typedef enum {
    NS_BOX_TURN, /* it has come */
    NS_BOX_GONE, /* the other process has ended without giving it */
    NS_BOX_LATE  /* it did not come in time */
} ns_box_t;

/* Wait for `turn`.  `other` is the other process's pidfd; about `seconds` of
 * real time, or for ever (0). */
ns_box_t ns_box_wait(struct ns_box *box, ns_turn_t turn, int other,
                     uint64_t seconds);

#endif
