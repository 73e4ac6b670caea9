# am-core/dev
libam_la_SOURCES += \
    am-core/dev/dev.c am-core/dev/dev.h am-core/dev/defaults.h am-core/dev/network.h am-core/dev/table.c \
    am-core/dev/meter.c am-core/dev/meter.h am-core/dev/silence.h \
    am-core/dev/meter_use.c am-core/dev/meter_use.h \
    am-core/dev/profile.c am-core/dev/profile_use.c am-core/dev/profile.h \
    am-core/dev/faster.c am-core/dev/faster.h \
    am-core/dev/self/self.h am-core/dev/self/self_dev.c \
    am-core/dev/self/self_dev.h am-core/dev/self/self_mem.c \
    am-core/dev/shm/shm.h am-core/dev/shm/shm_layout.h \
    am-core/dev/shm/shm_wait.h \
    am-core/dev/shm/shm_inl.h am-core/dev/shm/shm_tx.c am-core/dev/shm/shm_tx_data.c \
    am-core/dev/shm/shm_rx.c am-core/dev/shm/shm_poll.c am-core/dev/shm/shm_init.c \
    am-core/dev/shm/shm_cost.c am-core/dev/shm/shm_near.c \
    am-core/dev/shm/shm_near.h \
    am-core/dev/shm/shm_ep.c \
    am-core/dev/shm/shm_mem.c am-core/dev/shm/shm_mem.h \
    am-core/dev/shm/shm_withdraw.c am-core/dev/shm/shm_seg.c \
    am-core/dev/shm/shm_topo.c am-core/dev/shm/shm_sock.c \
    am-core/dev/shm/shm_message.c am-core/dev/shm/shm_message.h \
    am-core/dev/shm/shm_wait.c am-core/dev/shm/shm_wait_round.c \
    am-core/dev/shm/shm_wait_round.h \
    am-core/dev/shm/shm_wait_spread.c am-core/dev/shm/shm_wait_spread.h \
    am-core/dev/shm/shm_event.c am-core/dev/shm/shm_alive.c \
    am-core/dev/shm/shm_front.c am-core/dev/shm/shm_pages.c \
    am-core/dev/shm/shm_pages.h \
    am-core/dev/shm/shm_lanes.c am-core/dev/shm/shm_look.c
libam_la_SOURCES += \
    am-core/dev/wrap.c am-core/dev/wrap.h \
    am-core/dev/fault/fault.h am-core/dev/fault/fault_dev.c \
    am-core/dev/fault/fault_dev.h am-core/dev/fault/fault_init.c \
    am-core/dev/fault/fault_spec.c
if BUILD_UDP
libam_la_SOURCES += \
    am-core/dev/udp/udp.h am-core/dev/udp/udp_wire.h \
    am-core/dev/udp/udp_init.c am-core/dev/udp/udp_if.c \
    am-core/dev/udp/udp_sock.c am-core/dev/udp/udp_direct.c \
    am-core/dev/udp/udp_auth.c \
    am-core/dev/udp/udp_ep.c am-core/dev/udp/udp_tx.c \
    am-core/dev/udp/udp_rx.c am-core/dev/udp/udp_alive.c
endif
if BUILD_OFI
libam_la_SOURCES += \
    am-core/dev/ofi/ofi.h am-core/dev/ofi/ofi_wire.h \
    am-core/dev/ofi/ofi_init.c am-core/dev/ofi/ofi_lib.c \
    am-core/dev/ofi/ofi_fabric.c am-core/dev/ofi/ofi_name.c \
    am-core/dev/ofi/ofi_ep.c am-core/dev/ofi/ofi_tx.c \
    am-core/dev/ofi/ofi_rx.c am-core/dev/ofi/ofi_mem.c \
    am-core/dev/ofi/ofi_choose.c am-core/dev/ofi/ofi_nic.c am-core/dev/ofi/ofi_nic.h \
    am-core/dev/ofi/ofi_rma.c am-core/dev/ofi/ofi_cache.c am-core/dev/ofi/ofi_cache.h \
    am-core/dev/ofi/ofi_alive.c am-core/dev/ofi/ofi_wait.c
endif
