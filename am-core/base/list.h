/*
 * Intrusive doubly linked list with a sentinel, typed by am_container.
 */
#ifndef AM_BASE_LIST_H
#define AM_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define am_container(_ptr, _type, _member) \
    ((_type *)((char *)(_ptr)-offsetof(_type, _member)))

struct am_list {
    struct am_list *next, *prev;
};

static inline void am_list_init(struct am_list *list)
{
    list->next = list->prev = list;
}

static inline bool am_list_is_empty(const struct am_list *list)
{
    return list->next == list;
}

/* Append `node` at the tail. */
static inline void am_list_push(struct am_list *list, struct am_list *node)
{
    node->prev = list->prev;
    node->next = list;
    list->prev->next = node;
    list->prev = node;
}

static inline void am_list_remove(struct am_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->next = node->prev = node;
}

/* am_list_remove for a node that is pushed again before anybody asks whether it
 * is on a list: its own links stay as they were. */
static inline void am_list_cut(struct am_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
}

/* Take the head, NULL when empty. */
static inline struct am_list *am_list_pop(struct am_list *list)
{
    struct am_list *node = list->next;

    if (node == list) {
        return NULL;
    }
    am_list_remove(node);
    return node;
}

#endif
