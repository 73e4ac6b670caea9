# am-core/msg
libam_la_SOURCES += \
    am-core/msg/match.c am-core/msg/match.h am-core/msg/match_inl.h \
    am-core/msg/match_queue.h am-core/msg/match_unexpected.c \
    am-core/msg/msg.c am-core/msg/msg.h am-core/msg/msg_config.h am-core/msg/msg_core.h \
    am-core/msg/msg_buffer.c \
    am-core/msg/msg_cancel.c am-core/msg/msg_cancel.h \
    am-core/msg/msg_control.c \
    am-core/msg/msg_credit.c am-core/msg/msg_credit.h \
    am-core/msg/msg_done.c am-core/msg/msg_waits.h am-core/msg/msg_waits.c \
    am-core/msg/msg_id.c am-core/msg/msg_id.h \
    am-core/msg/msg_lost.c am-core/msg/msg_lost.h \
    am-core/msg/msg_recv.c \
    am-core/msg/msg_region.c am-core/msg/msg_region.h \
    am-core/msg/msg_send.c \
    am-core/msg/msg_tables.c am-core/msg/msg_tables.h \
    am-core/msg/msg_wire.h \
    am-core/msg/proto.h \
    am-core/msg/proto_buffered.c \
    am-core/msg/proto_choice.c am-core/msg/proto_choice.h \
    am-core/msg/proto_cost.c am-core/msg/proto_cost.h \
    am-core/msg/proto_describe.c \
    am-core/msg/proto_eager.c am-core/msg/proto_eager_inl.h \
    am-core/msg/proto_kind.c \
    am-core/msg/proto_round.c am-core/msg/proto_round.h \
    am-core/msg/proto_trial.c am-core/msg/proto_trial.h \
    am-core/msg/proto_get.c am-core/msg/proto_prefix.c \
    am-core/msg/proto_put.c \
    am-core/msg/rndv.c am-core/msg/rndv.h
