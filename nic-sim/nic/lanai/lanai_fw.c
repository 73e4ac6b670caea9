/*
 * The LANai's processor: which task comes next, and for how long it is busy.
 */
#include "nic/lanai/lanai.h"

static struct ns_lanai *lanai_of(struct ns_clocked *clocked)
{
    return am_container(clocked, struct ns_lanai, processor);
}

static void processor_sample(struct ns_clocked *clocked)
{
    struct ns_lanai *lanai = lanai_of(clocked);

    if (!am_list_is_empty(&lanai->forward_queue)) {
        lanai->latched = NS_LANAI_FORWARD;
    } else if (!am_list_is_empty(&lanai->in_queue)) {
        lanai->latched = NS_LANAI_RECEIVE;
    } else if (lanai->descriptors[4 * lanai->send_next + 1] != 0) {
        lanai->latched = NS_LANAI_SEND;
    } else if (ns_lanai_tell_peer(lanai) != lanai->nodes) {
        lanai->latched = NS_LANAI_ACK;
    } else if (ns_lanai_resend_peer(lanai) != lanai->nodes) {
        lanai->latched = NS_LANAI_RESEND;
    } else if (lanai->slot_cleanups > 0 || lanai->fetched_cleanups > 0 ||
               !am_list_is_empty(&lanai->done_queue)) {
        lanai->latched = NS_LANAI_CLEANUP;
    } else {
        lanai->latched = NS_LANAI_IDLE;
    }
}

static uint64_t task_cycles(const struct ns_lanai *lanai)
{
    uint64_t one = lanai->settings->send_cycles + ns_lanai_flow_cycles(lanai);

    switch (lanai->task) {
    case NS_LANAI_RECEIVE:
        return ns_lanai_receive_cycles(lanai);
    case NS_LANAI_SEND:
        return ns_lanai_send_cycles(lanai);
    case NS_LANAI_CLEANUP:
        return ns_lanai_cleanup_step(lanai);
    case NS_LANAI_RESEND:
        return one * lanai->peers[lanai->resending].unacked_count;
    default:
        return one;
    }
}

static uint64_t processor_evaluate(struct ns_clocked *clocked)
{
    struct ns_lanai *lanai = lanai_of(clocked);
    uint64_t now_ps = ns_engine_now(lanai->component.engine);

    if (lanai->task != NS_LANAI_IDLE) {
        if (now_ps < lanai->busy_until_ps) {
            return lanai->busy_until_ps;
        }
        lanai->finished = lanai->task;
        lanai->task = NS_LANAI_IDLE;
        return 0;
    }
    lanai->task = lanai->latched;
    if (lanai->task == NS_LANAI_IDLE) {
        return NS_NEVER;
    }
    if (lanai->task == NS_LANAI_SEND) {
        ns_lanai_mark(lanai, NS_STAGE_SEEN);
    } else if (lanai->task == NS_LANAI_RECEIVE) {
        ns_lanai_mark(lanai, NS_STAGE_FW_WAIT);
    } else if (lanai->task == NS_LANAI_RESEND) {
        lanai->resending = ns_lanai_resend_peer(lanai);
    }
    lanai->busy_until_ps = now_ps + task_cycles(lanai) * lanai->clock.period_ps;
    lanai->stats[NS_LANAI_STAT_BUSY] += lanai->busy_until_ps - now_ps;
    return lanai->busy_until_ps;
}

static void processor_commit(struct ns_clocked *clocked)
{
    struct ns_lanai *lanai = lanai_of(clocked);
    ns_lanai_task_t finished = lanai->finished;

    lanai->finished = NS_LANAI_IDLE;
    if (finished == NS_LANAI_IDLE) {
        return;
    }
    ns_trace(&lanai->component, NS_TRACE_FW, finished, 0);
    switch (finished) {
    case NS_LANAI_FORWARD:
        ns_lanai_forward_finish(lanai);
        break;
    case NS_LANAI_RECEIVE:
        ns_lanai_receive_finish(lanai);
        break;
    case NS_LANAI_SEND:
        ns_lanai_send_finish(lanai);
        break;
    case NS_LANAI_ACK:
        ns_lanai_tell_finish(lanai);
        break;
    case NS_LANAI_RESEND:
        ns_lanai_resend_finish(lanai);
        break;
    default:
        ns_lanai_cleanup_finish(lanai);
        break;
    }
}

const struct ns_clocked_ops ns_lanai_processor_ops = {
        .sample = processor_sample,
        .evaluate = processor_evaluate,
        .commit = processor_commit,
};
