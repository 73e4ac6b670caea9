/*
 * How a rank's process and the engine find each other: over an abstract Unix
 * socket, which leaves nothing in a file system.  Its name is in AM_SIM_ENGINE.
 *
 *   rank    --  struct ns_hello    --> engine
 *           <-- struct ns_welcome, the box's descriptor --
 */
#ifndef NS_COSIM_HELLO_H
#define NS_COSIM_HELLO_H

#include "cosim/box.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct ns_hello {
    uint32_t magic; /* NS_BOX_MAGIC */
    uint32_t rank, size;
    uint32_t probe;    /* what the word at `probe_at` is */
    uint64_t probe_at; /* of the rank's memory */
};

struct ns_welcome {
    uint32_t magic;
    uint32_t refused; /* `why` says why; no descriptor comes */
    uint64_t bytes;   /* of the box */
    char why[160];
};

/* The address of `name`; its length. */
static inline socklen_t ns_hello_address(struct sockaddr_un *address,
                                         const char *name)
{
    size_t length = strlen(name);

    if (length > sizeof(address->sun_path) - 1) {
        length = sizeof(address->sun_path) - 1; /* then nobody is there */
    }
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

#endif
