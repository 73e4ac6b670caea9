/*
 * Multicast along trees.  The host writes the forwarding table at start: this
 * node's children in the tree of each root.  A packet comes into SRAM once and
 * goes to all children from there, each by its own flow control; its buffer is
 * free when all of them have it and, where it was received, the host too.
 */
#include "nic/lanai/lanai.h"

void ns_lanai_forward_set(struct ns_lanai *lanai, uint32_t value)
{
    uint32_t root = value >> 16;

    NS_CHECK(root < lanai->nodes && (value & 0xffff) < lanai->nodes);
    NS_CHECK(lanai->child_count[root] < NS_LANAI_CHILDREN_MAX);
    lanai->children[root * NS_LANAI_CHILDREN_MAX + lanai->child_count[root]++] =
            (uint16_t)value;
}

uint32_t ns_lanai_child_count(const struct ns_lanai *lanai, uint32_t root)
{
    return root < lanai->nodes ? lanai->child_count[root] : 0;
}

bool ns_lanai_forwards(const struct ns_lanai *lanai, uint32_t root)
{
    return lanai->settings->multicast_host == 0 &&
           ns_lanai_child_count(lanai, root) > 0;
}

static uint32_t group_new(struct ns_lanai *lanai, struct ns_lanai_group group)
{
    uint32_t index = lanai->group_free;

    NS_CHECK(index != NS_LANAI_NO_GROUP);
    lanai->group_free = lanai->groups[index].next_free;
    lanai->groups[index] = group;
    return index;
}

void ns_lanai_group_part(struct ns_lanai *lanai, uint32_t index)
{
    struct ns_lanai_group *group = &lanai->groups[index];

    NS_CHECK(group->left > 0);
    if (--group->left > 0) {
        return;
    }
    if (group->from != NULL) {
        am_list_push(&lanai->done_queue, &group->from->link);
        ns_lanai_wake(lanai);
    } else {
        ns_lanai_frees(lanai, group->frees);
    }
    group->next_free = lanai->group_free;
    lanai->group_free = index;
}

/* Let `model` go to all children of the tree; it is the group's then. */
static uint32_t forward_start(struct ns_lanai *lanai, struct ns_packet *model,
                              uint32_t root, struct ns_lanai_group with)
{
    uint32_t index;

    with.model = model;
    with.root = root;
    index = group_new(lanai, with);
    am_list_push(&lanai->forward_queue, &lanai->groups[index].link);
    return index;
}

void ns_lanai_forward_finish(struct ns_lanai *lanai)
{
    struct ns_lanai_group *group = am_container(lanai->forward_queue.next,
                                                struct ns_lanai_group, link);
    struct ns_packet *part = ns_lanai_packet_copy(lanai, group->model);
    uint32_t at = group->root * NS_LANAI_CHILDREN_MAX + group->child++;

    part->destination = lanai->children[at];
    part->route = NS_LANAI_FREES_GROUP + (uint32_t)(group - lanai->groups);
    if (group->child == lanai->child_count[group->root]) {
        am_list_remove(&group->link);
        ns_packet_put(&lanai->net->pool, group->model);
    }
    ns_lanai_flow_send(lanai, part);
    ns_lanai_wake(lanai);
}

void ns_lanai_mcast_start(struct ns_lanai *lanai, struct ns_packet *packet,
                          uint32_t root, uint32_t frees)
{
    uint32_t count = ns_lanai_child_count(lanai, root);

    if (count == 0) {
        ns_lanai_frees(lanai, frees);
        ns_packet_put(&lanai->net->pool, packet);
        return;
    }
    (void)forward_start(lanai, packet, root,
                        (struct ns_lanai_group){.left = count, .frees = frees});
}

void ns_lanai_mcast_receive(struct ns_lanai *lanai, struct ns_packet *packet,
                            uint32_t root)
{
    uint32_t count = ns_lanai_child_count(lanai, root);

    packet->route = NS_LANAI_FREES_NOTHING;
    if (ns_lanai_forwards(lanai, root)) {
        ns_lanai_forwarding_begin(lanai, &lanai->peers[packet->source]);
        packet->route =
                NS_LANAI_FREES_GROUP +
                forward_start(lanai, ns_lanai_packet_copy(lanai, packet), root,
                              (struct ns_lanai_group){.left = count + 1,
                                                      .from = packet});
    }
    ns_lanai_to_host(lanai, packet);
}

bool ns_lanai_group_host(struct ns_lanai *lanai, struct ns_packet *packet)
{
    if (ns_lanai_wire_of(packet)->type != NS_LANAI_MCAST ||
        packet->route < NS_LANAI_FREES_GROUP) {
        return true;
    }
    ns_lanai_group_part(lanai, packet->route - NS_LANAI_FREES_GROUP);
    return false;
}
