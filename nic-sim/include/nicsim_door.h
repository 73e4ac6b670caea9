/*
 * Where processes that somebody else has started come in, to be the ranks of a
 * simulated machine.
 */
#ifndef NS_NICSIM_DOOR_H
#define NS_NICSIM_DOOR_H

#include "nicsim_sim.h"

#define NS_DOOR_NAME_BYTES 64

struct ns_door {
    int fd;
    char name[NS_DOOR_NAME_BYTES]; /* for AM_SIM_ENGINE */
};

/* One who has knocked. */
struct ns_guest {
    int fd; /* the connection; the guest waits there */
    int pid;
    uint32_t rank, size;
};

/* The cores that a process may run on. */
struct ns_cores {
    uint64_t set[16];
};

/* This process, and those that it starts from now on, stay on the core of now;
 * until then they might run on `before`. */
NS_API void ns_cores_one(struct ns_cores *before);
NS_API void ns_cores_restore(const struct ns_cores *before);

/* 0, or -1 with errno. */
NS_API int ns_door_open(struct ns_door *door);
NS_API void ns_door_close(struct ns_door *door);
/* Is somebody there, once door->fd is readable?  Whoever does not know the
 * greeting, or is another user's, is sent away. */
NS_API bool ns_door_meet(struct ns_door *door, struct ns_guest *guest);
/* Take the guest in, as the rank that it is.  0, or -1 with one sentence, which
 * the guest has got too. */
NS_API int ns_door_admit(struct ns_sim *sim, struct ns_guest *guest,
                         char *error, size_t error_bytes);
/* Send the guest away; `why` as the end of a sentence. */
NS_API void ns_door_refuse(struct ns_guest *guest, const char *why);

#endif
