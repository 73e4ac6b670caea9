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
    struct am_match_links links;
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
    /* of them the context whole, and the rest less often */
    static const uint64_t key_masks[] = {
            UINT64_C(0xffffffff00000000), UINT64_C(0xffffffff00000000),
            UINT64_C(0xffffffff00000003), UINT64_C(0x00000001ffffffff), 0};

    node->key = (uint64_t)draw(3) << 32 | draw(5);
    node->tag = draw(6) | draw(2) << 28 | draw(4) << 29;
    if (masks) {
        node->key_mask = draw(4) != 0 ? UINT64_MAX
                                      : key_masks[draw(8) != 0 ? 0 : draw(5)];
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
        am_match_store(match, &message->node, &message->links);
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

static bool take_tag(void *arg, struct am_match_node *node)
{
    return node->tag == *(const uint32_t *)arg;
}

/* All receives of one tag are taken out at once, each of them once. */
static void step_take(struct am_match *match, struct oracle *oracle)
{
    uint32_t tag = draw(6);
    struct am_list taken, *at;

    am_list_init(&taken);
    am_match_take_posted(match, take_tag, &tag, &taken);
    for (int i = oracle->posted_count; i-- > 0;) {
        if (oracle->posted[i]->node.tag == tag) {
            oracle->posted[i]->used = false;
            take(oracle->posted, &oracle->posted_count, i);
        }
    }
    while ((at = am_list_pop(&taken)) != NULL) {
        struct am_match_node *node =
                am_container(at, struct am_match_node, link);

        assert_int_equal(node->tag, tag);
        assert_false(am_container(node, struct entry, node)->used);
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
            if (draw(64) == 0) {
                step_take(&match, oracle);
            } else {
                step_cancel(&match, oracle);
            }
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
    DEEP = 600000
};

/* What a deep queue is asked for: context 7, 16 sources, a tag for each 16. */
struct deep {
    const char *name;
    uint64_t key_mask;
    uint32_t tag_mask;
    uint32_t sources, tags; /* how many of each are in the queue */
};

static const struct deep deeps[] = {
        {"exact", UINT64_MAX, AM_MATCH_TAG_MASK, 16, DEEP},
        {"any source", UINT64_C(0xffffffff00000000), AM_MATCH_TAG_MASK, 1,
         DEEP},
        {"any tag", UINT64_MAX, 0x10000000, DEEP, 1},
        {"any", UINT64_C(0xffffffff00000000), 0x10000000, 1, 1},
};

/* Entry i of a deep queue; where context is all that is asked for, each has a
 * context of its own. */
static struct am_match_node deep_node(const struct deep *deep, uint32_t i)
{
    uint64_t context = deep->sources == 1 && deep->tags == 1 ? i : 7;

    return (struct am_match_node){.key = context << 32 | i % deep->sources,
                                  .key_mask = deep->key_mask,
                                  .tag = deep->tags == 1 ? 5
                                                         : i / deep->sources,
                                  .tag_mask = deep->tag_mask};
}

/* Receives taken from the last by messages, and the other way round: few steps
 * for each, however many there are. */
static void deep_one(const struct deep *deep, struct entry *entries)
{
    struct am_match match;
    uint64_t steps = 0;

    print_message("%s\n", deep->name);
    assert_int_equal(am_match_init(&match, &steps), 0);
    for (uint32_t i = 0; i < DEEP; i++) {
        entries[i].node = deep_node(deep, i);
        am_match_post(&match, &entries[i].node);
    }
    for (uint32_t i = DEEP; i-- > 0;) {
        struct am_match_node *node = &entries[i].node;

        assert_ptr_equal(am_match_arrive(&match, node->key, node->tag), node);
    }
    assert_int_equal(am_match_posted_count(&match), 0);
    assert_true(steps < 4 * DEEP);
    steps = 0;
    for (uint32_t i = 0; i < DEEP; i++) {
        am_match_store(&match, &entries[i].node, &entries[i].links);
    }
    for (uint32_t i = DEEP; i-- > 0;) {
        struct am_match_node asked = deep_node(deep, i);
        struct am_match_want want = want_of(&asked);

        assert_ptr_equal(am_match_find(&match, &want), &entries[i].node);
        am_match_unstore(&match, &entries[i].node);
        assert_null(am_match_find(&match, &want)); /* a probe, in vain */
    }
    assert_int_equal(am_match_unexpected_count(&match), 0);
    assert_true(steps < 8 * DEEP);
    am_match_fini(&match);
}

static void test_deep(void **state)
{
    struct entry *entries = calloc(DEEP, sizeof(*entries));

    (void)state;
    for (size_t i = 0; i < sizeof(deeps) / sizeof(deeps[0]); i++) {
        deep_one(&deeps[i], entries);
    }
    free(entries);
}

/* Wildcard receives that do not fit cost a message nothing, whatever their
 * class, nor do messages that do not fit cost a wildcard receive. */
static void test_bystanders(void **state)
{
    struct entry *entries = calloc(DEEP, sizeof(*entries));
    struct am_match_want want = {.key = UINT64_C(99) << 32,
                                 .key_mask = UINT64_C(0xffffffff00000000)};
    struct am_match match;
    uint64_t steps = 0;

    (void)state;
    assert_int_equal(am_match_init(&match, &steps), 0);
    for (uint32_t i = 0; i < DEEP; i++) {
        entries[i].node = deep_node(&deeps[1 + i % 3], i);
        am_match_post(&match, &entries[i].node);
    }
    for (uint32_t i = 0; i < DEEP; i++) {
        assert_null(am_match_arrive(&match, UINT64_C(8) << 60 | i, i));
    }
    assert_true(steps < 8 * DEEP);
    for (uint32_t i = 0; i < DEEP; i++) {
        am_match_unpost(&match, &entries[i].node);
        am_match_store(&match, &entries[i].node, &entries[i].links);
    }
    steps = 0;
    for (uint32_t i = 0; i < DEEP; i++) {
        want.tag_mask = i % 2 == 0 ? AM_MATCH_TAG_MASK : 0x10000000;
        want.tag = i;
        want.key = UINT64_C(1) << 52 << i % 4;
        assert_null(am_match_find(&match, &want));
    }
    assert_true(steps < 4 * DEEP);
    am_match_fini(&match);
    free(entries);
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
            cmocka_unit_test(test_bystanders),
            cmocka_unit_test(test_same_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
