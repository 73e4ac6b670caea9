/*
 * Matching against two linear lists, at random; and its cost with deep queues.
 */
#include "support/cm.h"
#include "support/seed.h"

#include "msg/match.h"

#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES = 600,
    STEPS = 60000
};

struct entry {
    struct am_match_node node;
    bool used;
};

/* The oracle: both queues as arrays in order, searched from the front. */
struct oracle {
    struct entry *posted[ENTRIES], *unexpected[ENTRIES];
    int posted_count, unexpected_count;
};

static bool fits(const struct entry *recv, const struct entry *message)
{
    const struct am_match_node *r = &recv->node, *m = &message->node;

    return ((r->key ^ m->key) & r->key_mask) == 0 &&
           ((r->tag ^ m->tag) & r->tag_mask) == 0;
}

static void take(struct entry **list, int *count, int index)
{
    memmove(&list[index], &list[index + 1],
            (size_t)(*count - index - 1) * sizeof(*list));
    (*count)--;
}

static struct entry *oracle_arrive(struct oracle *oracle, struct entry *message)
{
    for (int i = 0; i < oracle->posted_count; i++) {
        struct entry *recv = oracle->posted[i];

        if (fits(recv, message)) {
            take(oracle->posted, &oracle->posted_count, i);
            return recv;
        }
    }
    oracle->unexpected[oracle->unexpected_count++] = message;
    return NULL;
}

static struct entry *oracle_find(struct oracle *oracle, struct entry *recv,
                                 bool remove)
{
    for (int i = 0; i < oracle->unexpected_count; i++) {
        struct entry *message = oracle->unexpected[i];

        if (fits(recv, message)) {
            if (remove) {
                take(oracle->unexpected, &oracle->unexpected_count, i);
            }
            return message;
        }
    }
    return NULL;
}

static struct am_prng prng;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)am_prng_below(&prng, below);
}

static struct entry *entry_get(struct entry *entries)
{
    for (int i = 0; i < ENTRIES; i++) {
        if (!entries[i].used) {
            entries[i] = (struct entry){.used = true};
            return &entries[i];
        }
    }
    return NULL;
}

static void draw_key(struct am_match_node *node, bool masks)
{
    static const uint32_t tag_masks[] = {AM_MATCH_TAG_MASK, AM_MATCH_TAG_MASK,
                                         0x0fffffff,        0,
                                         0x10000000,        0x3};

    node->key = (uint64_t)draw(3) << 32 | draw(5);
    node->tag = draw(6) | draw(2) << 28 | draw(4) << 29;
    if (masks) {
        node->key_mask =
                draw(4) == 0 ? UINT64_C(0xffffffff00000000) : UINT64_MAX;
        node->tag_mask = tag_masks[draw(3) != 0 ? draw(3) : draw(6)];
    }
}

static struct am_match_want want_of(const struct am_match_node *node)
{
    return (struct am_match_want){.key = node->key,
                                  .key_mask = node->key_mask,
                                  .tag = node->tag,
                                  .tag_mask = node->tag_mask};
}

static void step_message(struct am_match *match, struct oracle *oracle,
                         struct entry *message)
{
    struct am_match_node *node;
    struct entry *expected;

    draw_key(&message->node, false);
    expected = oracle_arrive(oracle, message);
    node = am_match_arrive(match, message->node.key, message->node.tag);
    assert_ptr_equal(node, expected == NULL ? NULL : &expected->node);
    if (node == NULL) {
        am_match_store(match, &message->node);
    } else {
        message->used = expected->used = false;
    }
}

static void step_receive(struct am_match *match, struct oracle *oracle,
                         struct entry *recv)
{
    struct am_match_want want;
    struct am_match_node *node;
    struct entry *expected;
    bool probe = draw(3) == 0;

    draw_key(&recv->node, true);
    want = want_of(&recv->node);
    expected = oracle_find(oracle, recv, !probe);
    node = am_match_find(match, &want);
    assert_ptr_equal(node, expected == NULL ? NULL : &expected->node);
    if (probe) {
        recv->used = false;
    } else if (node != NULL) {
        am_match_unstore(match, node);
        recv->used = expected->used = false;
    } else {
        am_match_post(match, &recv->node);
        oracle->posted[oracle->posted_count++] = recv;
    }
}

static void step_cancel(struct am_match *match, struct oracle *oracle)
{
    if (oracle->posted_count > 0) {
        int index = (int)draw((uint32_t)oracle->posted_count);
        struct entry *recv = oracle->posted[index];

        am_match_unpost(match, &recv->node);
        take(oracle->posted, &oracle->posted_count, index);
        recv->used = false;
    }
}

static void test_random(void **state)
{
    struct entry *entries = calloc(ENTRIES, sizeof(*entries));
    struct oracle *oracle = calloc(1, sizeof(*oracle));
    struct am_match match;
    uint64_t steps = 0;

    (void)state;
    prng = test_prng("msg_match");
    assert_int_equal(am_match_init(&match, &steps), 0);
    for (int i = 0; i < STEPS; i++) {
        struct entry *entry = entry_get(entries);
        uint32_t kind = draw(20);
        /* the balance drifts, so that either queue gets long at times */
        uint32_t messages = (i / 4000) % 2 == 0 ? 7 : 12;

        if (entry == NULL || kind == 0) {
            if (entry != NULL) {
                entry->used = false;
            }
            step_cancel(&match, oracle);
        } else if (kind <= messages) {
            step_message(&match, oracle, entry);
        } else {
            step_receive(&match, oracle, entry);
        }
        assert_int_equal(am_match_posted_count(&match), oracle->posted_count);
        assert_int_equal(am_match_unexpected_count(&match),
                         oracle->unexpected_count);
    }
    am_match_fini(&match);
    free(entries);
    free(oracle);
}

enum {
    DEEP = 20000
};

/* Steps for each look-up stay few however many receives are posted. */
static void test_deep(void **state)
{
    struct am_match_node *nodes = calloc(DEEP, sizeof(*nodes));
    struct am_match match;
    uint64_t steps = 0;

    (void)state;
    assert_int_equal(am_match_init(&match, &steps), 0);
    for (uint32_t i = 0; i < DEEP; i++) {
        nodes[i] = (struct am_match_node){.key = UINT64_C(7) << 32 | i % 16,
                                          .key_mask = UINT64_MAX,
                                          .tag = i / 16,
                                          .tag_mask = AM_MATCH_TAG_MASK};
        am_match_post(&match, &nodes[i]);
    }
    for (uint32_t i = DEEP; i-- > 0;) {
        assert_ptr_equal(am_match_arrive(&match, nodes[i].key, nodes[i].tag),
                         &nodes[i]);
    }
    assert_true(steps < 4 * DEEP);
    steps = 0;
    for (uint32_t i = 0; i < DEEP; i++) {
        am_match_store(&match, &nodes[i]);
    }
    for (uint32_t i = DEEP; i-- > 0;) {
        struct am_match_want want = want_of(&nodes[i]);

        assert_ptr_equal(am_match_find(&match, &want), &nodes[i]);
        am_match_unstore(&match, &nodes[i]);
    }
    assert_true(steps < 4 * DEEP);
    am_match_fini(&match);
    free(nodes);
}

/* Many receives of one key are taken in the order posted, one step each. */
static void test_same_key(void **state)
{
    struct am_match_node *nodes = calloc(DEEP, sizeof(*nodes));
    struct am_match match;
    uint64_t steps = 0;

    (void)state;
    assert_int_equal(am_match_init(&match, &steps), 0);
    for (uint32_t i = 0; i < DEEP; i++) {
        nodes[i] = (struct am_match_node){.key = 1,
                                          .key_mask = UINT64_MAX,
                                          .tag = 9,
                                          .tag_mask = AM_MATCH_TAG_MASK};
        am_match_post(&match, &nodes[i]);
    }
    for (uint32_t i = 0; i < DEEP; i++) {
        assert_ptr_equal(am_match_arrive(&match, 1, 9), &nodes[i]);
    }
    assert_null(am_match_arrive(&match, 1, 9));
    assert_int_equal(steps, DEEP);
    am_match_fini(&match);
    free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_random),
            cmocka_unit_test(test_deep),
            cmocka_unit_test(test_same_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
