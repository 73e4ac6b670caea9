# am-core/chan
libam_la_SOURCES += \
    am-core/chan/chan.h am-core/chan/stack.c
