/*
 * The devices, and the stacks of devices, that the conformance suite runs on.
 */
#include "config.h"

#include "conform/dev_conform.h"
#include "dev/self/self.h"
#include "dev/shm/shm.h"
#ifdef AM_UDP
#include "dev/udp/udp.h"
#endif
#ifdef AM_OFI
#include "dev/ofi/ofi.h"
#endif

#define SOUND (AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED)
/* For all channels in this process: peers that are not polled any more say
 * nothing, so there is no use in waiting for them; and no long keep-alive. */
#define CHAN_OPTIONS              \
    {"AM_CHAN_LINGER", "0"},      \
    {                             \
        "AM_CHAN_KEEPALIVE", "30" \
    }
#define ALL_FAULTS \
    "drop=1/20,dup=1/20,reorder=1/20,corrupt=1/20,delay=1/20:16,stall=1/20:8"

#ifdef AM_OFI /* reliable datagrams by TCP, without ofi_rxm */
#define OFI_TCP_ALONE "net"

/* That provider of libfabric 1.17 leaks a struct fi_info for each connection;
 * other tests of ofi look for leaks without it. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so";
}
#endif

#ifdef CONFORM_SIM
#include "dev/snic/snic.h"

/* On simulated hosts (test/sim/sim_world.c) there is their device only. */
const struct world_case conform_cases[] = {
        {.name = "sim",
         .ops = &am_dev_snic_ops,
         .options = {{"AM_RELIABILITY", "none"}}},
        {.name = "chan_sim",
         .ops = &am_dev_snic_ops,
         .options = {CHAN_OPTIONS, {"AM_RELIABILITY", "nack"}}},
        {.name = "chan_fault_sim",
         .ops = &am_dev_snic_ops,
         .options = {CHAN_OPTIONS, {"AM_FAULT", ALL_FAULTS}}},
};
#else
const struct world_case conform_cases[] = {
        {.name = "self", .ops = &am_dev_self_ops, .alone = true},
        {.name = "pipe", .ops = &pipe_dev_ops, .pipe_caps = SOUND},
        {.name = "pipe_copies",
         .ops = &pipe_dev_ops,
         .pipe_caps = SOUND | AM_DEV_CAP_PUT | AM_DEV_CAP_GET},
        {.name = "shm", .ops = &am_shm_ops},
        {.name = "shm_small",
         .ops = &am_shm_ops,
         .options = {{"AM_SHM_SLOTS", "16"},
                     {"AM_SHM_RING", "16k"},
                     {"AM_SHM_PACKET", "2k"}}},
#ifdef AM_UDP
        {.name = "udp",
         .ops = &am_udp_ops,
         .real = true,
         .options = {{"AM_UDP_IF", "lo"}, {"AM_RELIABILITY", "none"}}},
        {.name = "chan_udp",
         .ops = &am_udp_ops,
         .real = true,
         .options = {CHAN_OPTIONS, {"AM_UDP_IF", "lo"}}},
        {.name = "timer_udp",
         .ops = &am_udp_ops,
         .real = true,
         .options = {CHAN_OPTIONS,
                     {"AM_UDP_IF", "lo"},
                     {"AM_RELIABILITY", "timer"}}},
        {.name = "chan_plain_udp",
         .ops = &am_udp_ops,
         .real = true,
         .options = {CHAN_OPTIONS,
                     {"AM_UDP_IF", "127.0.0.0/8"},
                     {"AM_UDP_AUTH", "off"},
                     {"AM_UDP_PACKET", "1500"}}},
        {.name = "chan_fault_udp",
         .ops = &am_udp_ops,
         .real = true,
         .options = {CHAN_OPTIONS,
                     {"AM_UDP_IF", "lo"},
                     {"AM_UDP_KEY", "00112233445566778899aabbccddeeff"},
                     {"AM_FAULT", ALL_FAULTS}}},
#endif
#ifdef AM_OFI
        {.name = "ofi_tcp",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", "tcp;ofi_rxm"},
                     {"AM_OFI_DOMAIN", "lo"}}},
        {.name = "ofi_tcp_reads",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", "tcp;ofi_rxm"},
                     {"AM_OFI_DOMAIN", "lo"},
                     {"AM_OFI_READS", "on"}}},
        {.name = "ofi_tcp_writes",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", "tcp;ofi_rxm"},
                     {"AM_OFI_DOMAIN", "lo"},
                     {"AM_OFI_READS", "on"},
                     {"AM_OFI_WRITES", "on"}}},
        {.name = "ofi_shm_reads",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", "shm"}, {"AM_OFI_READS", "on"}}},
        {.name = "ofi_shm_writes",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", "shm"}, {"AM_OFI_WRITES", "on"}}},
        {.name = "ofi_tcp_alone_writes",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", OFI_TCP_ALONE},
                     {"AM_OFI_DOMAIN", "lo"},
                     {"AM_OFI_READS", "on"},
                     {"AM_OFI_WRITES", "on"}}},
        {.name = "ofi_tcp_single",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", "tcp;ofi_rxm"},
                     {"AM_OFI_DOMAIN", "lo"},
                     {"AM_OFI_MULTI", "off"},
                     {"AM_OFI_PACKET", "4k"}}},
        {.name = "ofi_tcp_alone",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", OFI_TCP_ALONE},
                     {"AM_OFI_DOMAIN", "lo"}}},
        {.name = "ofi_shm",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", "shm"}}},
        {.name = "ofi_sockets",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {{"AM_OFI_PROVIDER", "sockets"}, {"AM_OFI_DOMAIN", "lo"}}},
        {.name = "chan_fault_ofi",
         .ops = &am_ofi_ops,
         .real = true,
         .options = {CHAN_OPTIONS,
                     {"AM_OFI_PROVIDER", "tcp;ofi_rxm"},
                     {"AM_OFI_DOMAIN", "lo"},
                     {"AM_FAULT", ALL_FAULTS}}},
#endif
        {.name = "fault_pipe",
         .ops = &pipe_dev_ops,
         .options = {{"AM_FAULT", "drop=1/10,dup=1/10,reorder=1/5,delay=1/10"},
                     {"AM_RELIABILITY", "none"}}},
        {.name = "stall_pipe",
         .ops = &pipe_dev_ops,
         .options = {{"AM_FAULT", "stall=1/3:5"}, {"AM_RELIABILITY", "none"}}},
        {.name = "fault_shm",
         .ops = &am_shm_ops,
         .options = {{"AM_FAULT", "drop=1/10,dup=1/10,reorder=1/5,delay=1/10"},
                     {"AM_RELIABILITY", "none"}}},
        {.name = "chan_pipe", .ops = &pipe_dev_ops, .options = {CHAN_OPTIONS}},
        {.name = "chan_self",
         .ops = &am_dev_self_ops,
         .alone = true,
         .options = {CHAN_OPTIONS, {"AM_RELIABILITY", "nack"}}},
        {.name = "chan_shm",
         .ops = &am_shm_ops,
         .options = {CHAN_OPTIONS, {"AM_RELIABILITY", "nack"}}},
        {.name = "chan_fault_pipe",
         .ops = &pipe_dev_ops,
         .options = {CHAN_OPTIONS, {"AM_FAULT", ALL_FAULTS}}},
        {.name = "chan_fault_shm",
         .ops = &am_shm_ops,
         .options = {CHAN_OPTIONS, {"AM_FAULT", ALL_FAULTS}}},
        {.name = "chan_fault_self",
         .ops = &am_dev_self_ops,
         .alone = true,
         .options = {CHAN_OPTIONS, {"AM_FAULT", ALL_FAULTS}}},
        {.name = "chan_one_fault_pipe",
         .ops = &pipe_dev_ops,
         .options = {CHAN_OPTIONS,
                     {"AM_FAULT", ALL_FAULTS},
                     {"AM_CHAN_REQUEST_WINDOW", "1"},
                     {"AM_CHAN_REPLY_WINDOW", "0"}}},
        {.name = "timer_fault_pipe",
         .ops = &pipe_dev_ops,
         .options = {CHAN_OPTIONS,
                     {"AM_FAULT", ALL_FAULTS},
                     {"AM_RELIABILITY", "timer"},
                     {"AM_CHAN_RTO", "4"},
                     {"AM_CHAN_RTO_MAX", "30"},
                     {"AM_CHAN_ACK_DELAY", "1"}}},
};
#endif

const size_t conform_case_count =
        sizeof(conform_cases) / sizeof(conform_cases[0]);
