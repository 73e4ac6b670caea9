/*
 * The bins of matching, for match.c and match_unexpected.c: which class a
 * receive is in, and in which bin of a queue an envelope belongs.
 */
#ifndef AM_MSG_MATCH_QUEUE_H
#define AM_MSG_MATCH_QUEUE_H

#include "msg/match.h"

/* The class of a receive or probe with these masks. */
am_match_class_t am_match_class_of(uint64_t key_mask, uint32_t tag_mask);

/* Make an empty queue of a class other than AM_MATCH_LOOSE; 0, or -1 without
 * memory. */
int am_match_queue_init(struct am_match_queue *queue, am_match_class_t class,
                        bool is_index);
/* The bin of an envelope: of its parts that the queue's class names. */
struct am_list *am_match_queue_bin(const struct am_match_queue *queue,
                                   uint64_t key, uint32_t tag);

#endif
