# am-core/am
libam_la_SOURCES += \
    am-core/am/core.h am-core/am/region.h \
    am-core/am/core_inl.h am-core/am/ctx.h am-core/am/devices.h \
    am-core/am/ctx.c am-core/am/info.c am-core/am/peer.c am-core/am/death.c \
    am-core/am/peer_late.c am-core/am/forked.c \
    am-core/am/handle.c am-core/am/data.c am-core/am/dispatch.c \
    am-core/am/request.c am-core/am/progress.c am-core/am/network.c \
    am-core/am/wait.c am-core/am/region.c \
    am-core/am/bulk.c am-core/am/bulk_copy.c am-core/am/bulk_get.c am-core/am/bulk_rx.c \
    am-core/am/bulk_wire.h am-core/am/cost.c am-core/am/cost.h \
    am-core/am/costs.c am-core/am/costs.h am-core/am/spare.c am-core/am/spare.h \
    am-core/am/onesided.c am-core/am/post.c am-core/am/address.c \
    am-core/am/devices.c am-core/am/event.c am-core/am/counters.c \
    am-core/am/counters.h \
    am-core/am/client.c am-core/am/client_rx.c am-core/am/client.h \
    am-core/am/default.c am-core/am/job.c \
    am-core/am/pmi.c am-core/am/pmi.h \
    am-core/am/pmi_open.c am-core/am/pmi_text.c
