/*
 * The memory that a rank and the engine share, and whose it is.
 */
#include "config.h"

#include "cosim/seat.h"

#include "sim.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int ns_seat_open(struct ns_seat *seat, const struct ns_machine *machine)
{
    const struct ns_host_settings *cost = &machine->host;
    void *map = MAP_FAILED;

    *seat = (struct ns_seat){.fd = -1, .pid = -1, .process = -1};
    seat->bytes = ns_box_bytes((uint32_t)cost->shared_bytes,
                               (uint32_t)cost->line_bytes, machine->coherent);
    seat->fd = memfd_create("libam-sim", MFD_CLOEXEC);
    if (seat->fd >= 0 && ftruncate(seat->fd, (off_t)seat->bytes) == 0) {
        map = mmap(NULL, seat->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                   seat->fd, 0);
    }
    if (map == MAP_FAILED) {
        ns_seat_close(seat);
        return -1;
    }
    seat->box = map;
    return 0;
}

void ns_seat_dismiss(struct ns_seat *seat)
{
    if (seat->process >= 0) {
        if (!seat->over) {
            seat->box->answer = NS_ANSWER_STOP;
            ns_box_give(seat->box, NS_TURN_RANK);
        }
        close(seat->process);
        seat->process = -1;
    }
}

void ns_seat_close(struct ns_seat *seat)
{
    ns_seat_dismiss(seat);
    if (seat->box != NULL) {
        munmap(seat->box, seat->bytes);
    }
    if (seat->fd >= 0) {
        close(seat->fd);
    }
    *seat = (struct ns_seat){.fd = -1, .pid = -1, .process = -1};
}

void ns_seat_describe(struct ns_node *node)
{
    const struct ns_sim *sim = node->view.sim;
    const struct ns_machine *machine = sim->machine;
    const struct ns_cpu *cpu = &node->host.cpu;
    struct ns_box *box = node->seat.box;

    box->magic = NS_BOX_MAGIC;
    box->engine = getpid();
    box->cost = machine->host;
    snprintf(box->nic, sizeof(box->nic), "%s", cpu->port.nic);
    box->node = node->view.rank;
    box->nodes = node->view.size;
    box->post_room = sizeof(box->posts);
    if (sim->params.post_bytes > 0 &&
        sim->params.post_bytes < sizeof(box->posts)) {
        box->post_room = sim->params.post_bytes;
    }
    box->memory_bytes = cpu->memory.bytes;
    box->coherent = machine->coherent;
    box->no_jump = sim->params.no_jump;
    box->random = cpu->random;
    box->operation_ps = sim->params.operation_ps;
    box->measured = sim->params.measured;
    box->slices = sim->params.trace_path != NULL;
    NS_CHECK(sim->kind->facts_bytes <= sizeof(box->facts));
    memcpy(box->facts, cpu->port.facts, sim->kind->facts_bytes);
}

int ns_seat_take(struct ns_node *node, int pid)
{
    struct ns_seat *seat = &node->seat;

    seat->pid = pid;
    seat->process = (int)syscall(SYS_pidfd_open, pid, 0);
    node->host.cpu.memory.process = pid;
    return seat->process < 0 ? -1 : 0;
}
