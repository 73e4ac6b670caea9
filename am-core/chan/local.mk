# am-core/chan
libam_la_SOURCES += \
    am-core/chan/chan.h am-core/chan/chan_wire.h am-core/chan/stack.c \
    am-core/chan/window.c am-core/chan/window.h am-core/chan/window_inl.h \
    am-core/chan/window_conn.c am-core/chan/window_rx.c \
    am-core/chan/window_tx.c am-core/chan/window_early.c \
    am-core/chan/window_sack.c am-core/chan/window_again.c \
    am-core/chan/window_memory.c am-core/chan/window_rate.c \
    am-core/chan/window_pass.c \
    am-core/chan/chan_dev.c am-core/chan/chan_dev.h am-core/chan/chan_ep.c \
    am-core/chan/chan_init.c \
    am-core/chan/chan_time.c
