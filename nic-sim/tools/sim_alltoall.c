/*
 * A scenario at the level of the NIC: every node of a Blue Gene/P torus sends
 * one packet to every other, with no context and no peers: descriptors, memory
 * FIFOs, nothing else.  What a large torus costs to simulate.
 */
#include "tools/sim.h"

#include "nicsim_bgp.h"
#include "nicsim_port.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    ENTRIES = 128,
    REFILL = ENTRIES / 4, /* so many free places are filled at a time */
    RECEPTION = 65536,
    RELEASE = RECEPTION / 8, /* and so many bytes given back */
    NODES = 64,              /* if --nodes does not tell */
    PAYLOAD = NS_BGP_PAYLOAD_BYTES,
    PACKET = NS_BGP_HEADER_BYTES + PAYLOAD
};

struct node {
    struct ns_port *port;
    uint32_t status_at, injection, payload, reception;
    uint32_t sent, taken, released;
    struct ns_bgp_status status;
};

struct alltoall {
    uint64_t received, packets; /* so far, and all */
    int failed;
};

static void reg_write(struct node *node, uint32_t block, uint32_t reg,
                      uint32_t value)
{
    node->port->ops->pio_store(node->port, NS_BGP_REG(0, block, 0, reg), value,
                               4);
}

static int node_open(struct node *node, struct ns_sim_node *sim)
{
    struct ns_port *port = sim->env->port;

    *node = (struct node){.port = port};
    node->status_at = port->ops->alloc(port, NS_BGP_STATUS_BYTES, 32);
    node->injection =
            port->ops->alloc(port, ENTRIES * NS_BGP_DESCRIPTOR_BYTES, 32);
    node->payload = port->ops->alloc(port, PAYLOAD, 32);
    node->reception = port->ops->alloc(port, RECEPTION, 32);
    if (node->status_at == NS_ADDRESS_NONE ||
        node->injection == NS_ADDRESS_NONE ||
        node->payload == NS_ADDRESS_NONE ||
        node->reception == NS_ADDRESS_NONE) {
        return -1;
    }
    reg_write(node, NS_BGP_INJECTION, NS_BGP_FIFO_START, node->injection);
    reg_write(node, NS_BGP_INJECTION, NS_BGP_FIFO_SIZE, ENTRIES);
    reg_write(node, NS_BGP_RECEPTION, NS_BGP_FIFO_START, node->reception);
    reg_write(node, NS_BGP_RECEPTION, NS_BGP_FIFO_SIZE, RECEPTION);
    reg_write(node, NS_BGP_GROUP, NS_BGP_GROUP_STATUS, node->status_at);
    return 0;
}

/* Fill the FIFO as far as it goes; one bell for all. */
static void send_some(struct node *node, uint32_t rank, uint32_t size)
{
    uint32_t left = size - 1 - node->sent;
    uint32_t room = ENTRIES - (node->sent - node->status.injected);

    if (left == 0 || room < (left < REFILL ? left : REFILL)) {
        return;
    }
    while (node->sent < size - 1 &&
           node->sent - node->status.injected < ENTRIES) {
        const struct ns_bgp_descriptor descriptor = {
                .kind = NS_BGP_MEMORY_FIFO,
                .flags = NS_BGP_SHARED | NS_BGP_ADAPTIVE,
                .count = NS_BGP_COUNTER_NONE,
                .destination = (rank + 1 + node->sent) % size,
                .bytes = PAYLOAD,
                .address = node->payload,
        };

        node->port->ops->store(node->port,
                               node->injection + node->sent % ENTRIES *
                                                         sizeof(descriptor),
                               &descriptor, sizeof(descriptor));
        node->sent++;
    }
    reg_write(node, NS_BGP_INJECTION, NS_BGP_FIFO_TAIL, node->sent);
}

/* Look at the headers of what has come. */
static void take_some(struct alltoall *all, struct node *node)
{
    uint32_t bytes = node->status.received - node->taken;

    all->received += node->status.received / PACKET - node->taken / PACKET;
    sim_bar_part(all->received, all->packets);
    node->port->ops->charge(node->port, NS_WORK_POLL, bytes / PACKET);
    node->taken = node->status.received;
    if (node->taken - node->released >= RELEASE) {
        node->released = node->taken;
        reg_write(node, NS_BGP_RECEPTION, NS_BGP_FIFO_HEAD, node->released);
    }
}

static void node_main(void *arg, struct ns_sim_node *sim)
{
    struct alltoall *all = arg;
    struct node node;

    if (node_open(&node, sim) != 0) {
        all->failed = 1;
        ns_sim_abort(sim);
        return;
    }
    ns_sim_barrier(sim);
    while (node.taken < (sim->size - 1) * PACKET ||
           node.status.injected < sim->size - 1) {
        node.port->ops->charge(node.port, NS_WORK_POLL, 1);
        node.port->ops->load(node.port, node.status_at, &node.status,
                             sizeof(node.status));
        take_some(all, &node);
        send_some(&node, sim->rank, sim->size);
        am_env_relax(sim->env, UINT64_MAX);
    }
    ns_sim_barrier(sim);
    reg_write(&node, NS_BGP_GROUP, NS_BGP_GROUP_CLOSE, 0);
}

int sim_alltoall(const struct sim_options *options,
                 const struct ns_machine *machine)
{
    struct ns_sim_params params = options->params;
    struct alltoall all = {0};
    struct ns_sim_result result;
    struct rusage usage;
    char error[512] = "";
    struct ns_sim *sim;
    uint64_t packets, from_ps = am_env_now(am_env_real()), host_ms;
    int status = -1;

    if (strcmp(machine->nic, "bgp") != 0) {
        return sim_fail("--alltoall is for machines with the adapter bgp");
    }
    params.nodes = options->nodes != 0 ? options->nodes : NODES;
    packets = (uint64_t)params.nodes * (params.nodes - 1);
    all.packets = packets;
    sim = ns_sim_open(machine, &params, error, sizeof(error));
    if (sim != NULL) {
        status =
                ns_sim_run(sim, node_main, &all, &result, error, sizeof(error));
        ns_sim_close(sim);
    }
    sim_bar_clear();
    if (status != 0 || all.failed || all.received != packets) {
        return sim_fail(error[0] != '\0' ? error : "packets are missing");
    }
    host_ms = (am_env_now(am_env_real()) - from_ps) / UINT64_C(1000000000);
    getrusage(RUSAGE_SELF, &usage);
    if (options->json) {
        sim_json_print(
                options, machine, &result,
                json_pack("{s:s, s:s, s:i, s:f, s:s, s:I, s:I, s:I}", "test",
                          "sim_alltoall", "metric", "virtual_time", "nodes",
                          (int)params.nodes, "value",
                          (double)result.end_ps / 1e3, "unit", "ns", "packets",
                          (json_int_t)packets, "host_ms", (json_int_t)host_ms,
                          "process_bytes", (json_int_t)usage.ru_maxrss * 1024));
        return EXIT_SUCCESS;
    }
    printf("all-to-all on %s: %" PRIu32 " nodes, %" PRIu64
           " packets, %.3f ms of virtual time, %" PRIu64
           " events, %.1f s here, %ld MiB, %ld KiB a node, trace %016" PRIx64
           "\n",
           machine->name, params.nodes, packets, (double)result.end_ps / 1e9,
           result.events, (double)host_ms / 1e3, usage.ru_maxrss / 1024,
           usage.ru_maxrss / params.nodes, result.hash);
    return EXIT_SUCCESS;
}
