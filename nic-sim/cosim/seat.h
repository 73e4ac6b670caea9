/*
 * The engine's side of a rank's process: a fiber that does what the rank asks
 * for, at the host of its node.
 */
#ifndef NS_COSIM_SEAT_H
#define NS_COSIM_SEAT_H

#include "cosim/box.h"

struct ns_node;
struct ns_sim;

struct ns_seat {
    struct ns_box *box; /* NULL: it has none */
    size_t bytes;       /* with its room */
    int fd;             /* of the memory, for who maps it */
    int pid, process;   /* who has it, and its pidfd; -1: nobody */
    bool over;          /* it has said that its program is over */
    uint64_t turns;     /* that it has got */
    struct ns_access steady; /* as the box's */
    bool outside;       /* its process runs, and its node waits for that */
};

/* A box with room for the memory of `machine`'s hosts.  0, or -1 with errno. */
int ns_seat_open(struct ns_seat *seat, const struct ns_machine *machine);
/* The run is over: a process that waits for its turn is told to end. */
void ns_seat_dismiss(struct ns_seat *seat);
void ns_seat_close(struct ns_seat *seat);
/* No event is left: wait until all ranks that are outside are back, and let them
 * go on.  False: none was. */
bool ns_seats_return(struct ns_sim *sim);
/* What the rank's program waits for, as it says itself, into `text`; "" if it
 * cannot be asked.  Its run is over then. */
void ns_seat_waits(struct ns_node *node, char *text, size_t bytes);
/* post_seat.c: a record of the rank's, of kind NS_BOX_... or what those follow. */
void ns_seat_record(struct ns_node *node, uint32_t kind, uint64_t time_ps,
                    uint64_t a, uint64_t b);
/* Write what stays the same into the box; the node's NIC is there. */
void ns_seat_describe(struct ns_node *node);
/* Process `pid` has it.  0, or -1 with errno. */
int ns_seat_take(struct ns_node *node, int pid);
/* The body of the node's fiber: returns when its program is over, or when the
 * process has gone, which ends the run. */
void ns_seat_serve(struct ns_node *node);

#endif
