/*
 * The TB2's firmware tasks on the i860, and the left DMA engine they set going.
 */
#include "nic/tb2/tb2.h"

#include <string.h>

/* ---------------------------------------------------------- left DMA engine */

static void job_done(struct ns_bus_request *request);

void ns_tb2_left_start(struct ns_event *event)
{
    struct ns_tb2 *tb2 = am_container(event, struct ns_tb2, left_start);

    ns_bus_dma(&tb2->host->bus, &tb2->left,
               tb2->jobs[tb2->job_head].packet->bytes, job_done);
}

static void job_start(struct ns_tb2 *tb2)
{
    uint64_t now_ps = ns_engine_now(tb2->component.engine);
    uint64_t ready_ps = tb2->jobs[tb2->job_head].ready_ps;

    ns_event_schedule(&tb2->component, &tb2->left_start, NS_PHASE_NIC,
                      ready_ps > now_ps ? ready_ps : now_ps);
}

static void job_queue(struct ns_tb2 *tb2, struct ns_tb2_job job)
{
    NS_CHECK(tb2->job_count < NS_TB2_JOBS);
    job.ready_ps =
            ns_engine_now(tb2->component.engine) + tb2->settings->dma_start_ps;
    tb2->jobs[(tb2->job_head + tb2->job_count) % NS_TB2_JOBS] = job;
    tb2->job_count++;
    if (tb2->job_count == 1) {
        job_start(tb2);
    }
}

static void packet_drop(struct ns_tb2 *tb2, struct ns_packet *packet)
{
    ns_trace(&tb2->component, NS_TRACE_DROP, packet->id, packet->bytes);
    ns_packet_put(&tb2->net->pool, packet);
}

void ns_tb2_out_free(void *arg)
{
    struct ns_tb2 *tb2 = arg;

    tb2->out_used -= NS_TB2_ENTRY_BYTES;
    ns_clocked_wake(&tb2->i860);
}

/* The entry is in the adapter: clear its slot, put it on the switch. */
static void send_done(struct ns_tb2 *tb2, const struct ns_tb2_job *job)
{
    struct ns_packet *packet = job->packet;
    struct ns_tb2_header header;

    ns_memory_dma_read(&tb2->host->cpu.memory, job->address, packet->data,
                       packet->bytes);
    memcpy(&header, packet->data, sizeof(header));
    packet->source = tb2->component.node;
    packet->destination = header.node;
    packet->route = header.route;
    tb2->length[job->slot] = 0;
    tb2->stats[NS_TB2_STAT_SENT_BYTES] += packet->bytes;
    ns_trace(&tb2->component, NS_TRACE_DMA_OUT, packet->id, packet->bytes);
    ns_mark(tb2->component.engine, NS_STAGE_DMA_OUT,
            ns_engine_now(tb2->component.engine));
    if (packet->destination >= tb2->net->nodes ||
        packet->route >= tb2->net->settings.routes) {
        tb2->stats[NS_TB2_STAT_BAD]++;
        packet_drop(tb2, packet);
        ns_tb2_out_free(tb2);
        return;
    }
    tb2->stats[NS_NIC_STAT_SENT]++;
    ns_sp_inject(tb2->net, packet);
}

/* The packet is in host memory. */
static void receive_done(struct ns_tb2 *tb2, const struct ns_tb2_job *job)
{
    struct ns_packet *packet = job->packet;
    struct ns_tb2_header header;

    memcpy(&header, packet->data, sizeof(header));
    header.node = (uint16_t)packet->source;
    header.valid = 1;
    memcpy(packet->data, &header, sizeof(header));
    ns_memory_dma_write(&tb2->host->cpu.memory, job->address, packet->data,
                        packet->bytes);
    tb2->stats[NS_NIC_STAT_RECEIVED]++;
    tb2->stats[NS_TB2_STAT_RECEIVED_BYTES] += packet->bytes;
    ns_trace(&tb2->component, NS_TRACE_DMA_IN, packet->id, packet->bytes);
    ns_mark(tb2->component.engine, NS_STAGE_DMA_IN,
            ns_engine_now(tb2->component.engine));
    ns_packet_put(&tb2->net->pool, packet);
    ns_sp_taken(tb2->net, tb2->component.node);
    ns_host_notify(tb2->host);
}

static void job_done(struct ns_bus_request *request)
{
    struct ns_tb2 *tb2 = am_container(request, struct ns_tb2, left);
    struct ns_tb2_job job = tb2->jobs[tb2->job_head];

    tb2->job_head = (tb2->job_head + 1) % NS_TB2_JOBS;
    tb2->job_count--;
    if (tb2->job_count > 0) {
        job_start(tb2);
    }
    if (job.in) {
        receive_done(tb2, &job);
    } else {
        send_done(tb2, &job);
    }
}

/* ----------------------------------------------------------------- firmware */

static void send_finish(struct ns_tb2 *tb2)
{
    struct ns_packet *packet = ns_packet_get(&tb2->net->pool);
    uint32_t slot = tb2->tx_next;

    NS_CHECK(packet != NULL);
    packet->id = (uint64_t)tb2->component.node << 40 | tb2->packet_count++;
    packet->bytes = (uint32_t)tb2->length[slot] * NS_TB2_LENGTH_UNIT;
    tb2->tx_next = (slot + 1) % (uint32_t)tb2->settings->send_entries;
    ns_trace(&tb2->component, NS_TRACE_FW, NS_TB2_SEND, packet->id);
    ns_mark(tb2->component.engine, NS_STAGE_FW_OUT,
            ns_engine_now(tb2->component.engine));
    job_queue(tb2, (struct ns_tb2_job){
                           .packet = packet,
                           .address = tb2->tx_base + slot * NS_TB2_ENTRY_BYTES,
                           .slot = slot,
                   });
}

/* Each sender has so many entries of the receive FIFO, and loses what comes
 * when all of them are full; also when the host has closed: rx_count is 0. */
static bool entry_free(const struct ns_tb2 *tb2, uint32_t source)
{
    return tb2->rx_used < tb2->rx_count &&
           tb2->rx_share[source] < tb2->settings->receive_entries;
}

static void receive_finish(struct ns_tb2 *tb2)
{
    struct ns_packet *packet =
            am_container(am_list_pop(&tb2->in_queue), struct ns_packet, link);
    uint32_t entry = tb2->rx_next;

    ns_trace(&tb2->component, NS_TRACE_FW, NS_TB2_RECEIVE, packet->id);
    if (packet->corrupt) {
        tb2->stats[NS_NIC_STAT_DROPPED]++;
        tb2->stats[NS_TB2_STAT_CORRUPT]++;
        packet_drop(tb2, packet);
        ns_sp_taken(tb2->net, tb2->component.node);
        return;
    }
    if (!entry_free(tb2, packet->source)) {
        tb2->stats[tb2->rx_count == 0 ? NS_NIC_STAT_CLOSED
                                      : NS_NIC_STAT_DROPPED]++;
        packet_drop(tb2, packet);
        ns_sp_taken(tb2->net, tb2->component.node);
        return;
    }
    tb2->rx_used++;
    tb2->rx_share[packet->source]++;
    tb2->rx_from[entry] = (uint16_t)packet->source;
    tb2->rx_next = (entry + 1) % tb2->rx_count;
    ns_mark(tb2->component.engine, NS_STAGE_FW_IN,
            ns_engine_now(tb2->component.engine));
    job_queue(tb2, (struct ns_tb2_job){
                           .packet = packet,
                           .address = tb2->rx_base + entry * NS_TB2_ENTRY_BYTES,
                           .in = true,
                   });
}

static struct ns_tb2 *tb2_of(struct ns_clocked *clocked)
{
    return am_container(clocked, struct ns_tb2, i860);
}

static void i860_sample(struct ns_clocked *clocked)
{
    struct ns_tb2 *tb2 = tb2_of(clocked);

    tb2->latched.bytes = tb2->length[tb2->tx_next];
    tb2->latched.out_space =
            tb2->out_used + NS_TB2_ENTRY_BYTES <= tb2->settings->fifo_bytes / 2;
    tb2->latched.in_waits = !am_list_is_empty(&tb2->in_queue);
}

static ns_tb2_task_t task_pick(const struct ns_tb2 *tb2)
{
    bool send = tb2->latched.bytes != 0 && tb2->latched.out_space;
    bool receive = tb2->latched.in_waits;

    if (send && (!receive || tb2->last_task == NS_TB2_RECEIVE)) {
        return NS_TB2_SEND;
    }
    return receive ? NS_TB2_RECEIVE : NS_TB2_IDLE;
}

static uint64_t i860_evaluate(struct ns_clocked *clocked)
{
    struct ns_tb2 *tb2 = tb2_of(clocked);
    struct ns_engine *engine = tb2->component.engine;
    uint64_t now_ps = ns_engine_now(engine);

    if (tb2->task != NS_TB2_IDLE) {
        if (now_ps < tb2->busy_until_ps) {
            return tb2->busy_until_ps;
        }
        tb2->finished = tb2->task;
        tb2->task = NS_TB2_IDLE;
        return 0;
    }
    tb2->task = task_pick(tb2);
    if (tb2->task == NS_TB2_IDLE) {
        return NS_NEVER;
    }
    tb2->last_task = tb2->task;
    tb2->out_used += tb2->task == NS_TB2_SEND ? NS_TB2_ENTRY_BYTES : 0;
    ns_mark(engine, tb2->task == NS_TB2_SEND ? NS_STAGE_SEEN : NS_STAGE_FW_WAIT,
            now_ps);
    tb2->busy_until_ps =
            now_ps + tb2->settings->packet_cycles * tb2->clock.period_ps;
    tb2->stats[NS_TB2_STAT_FW_BUSY] += tb2->busy_until_ps - now_ps;
    return tb2->busy_until_ps;
}

static void i860_commit(struct ns_clocked *clocked)
{
    struct ns_tb2 *tb2 = tb2_of(clocked);
    ns_tb2_task_t finished = tb2->finished;

    tb2->finished = NS_TB2_IDLE;
    if (finished == NS_TB2_SEND) {
        send_finish(tb2);
    } else if (finished == NS_TB2_RECEIVE) {
        receive_finish(tb2);
    }
}

const struct ns_clocked_ops ns_tb2_i860_ops = {
        .sample = i860_sample,
        .evaluate = i860_evaluate,
        .commit = i860_commit,
};
