/*
 * The variables of msg (msg_tables.c), as they were read.
 */
#ifndef AM_MSG_MSG_CONFIG_H
#define AM_MSG_MSG_CONFIG_H

#include "base/config.h"

#include <stddef.h>

/* AM_BUFFERING: who copies where (Saphir, Message buffering and its effect on
 * the communication performance of parallel computers, NASA RNS-94-004, 1994). */
typedef enum {
    AM_BUFFERING_MPI,  /* the protocols below, by size */
    AM_BUFFERING_NX,   /* data always leaves at once; system memory there */
    AM_BUFFERING_CMMD, /* data leaves when the receive is posted */
    AM_BUFFERING_PVM   /* packed at the sender, unpacked at the receiver */
} am_buffering_t;

/* The variables as text and numbers; parsed further in proto_choice.c. */
struct am_msg_config {
    char proto[AM_CONFIG_TEXT_BYTES];
    char eager_max[AM_CONFIG_TEXT_BYTES];
    char buffered_max[AM_CONFIG_TEXT_BYTES];
    char prefix_max[AM_CONFIG_TEXT_BYTES];
    char buffer_bins[AM_CONFIG_TEXT_BYTES];
    size_t prefix_bytes, buffer_bytes, unexp_max;
    int rndv, buffering, explain;
};

#endif
