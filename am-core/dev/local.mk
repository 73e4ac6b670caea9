# am-core/dev
libam_la_SOURCES += \
    am-core/dev/dev.c am-core/dev/dev.h \
    am-core/dev/self/self.h am-core/dev/self/self_dev.c \
    am-core/dev/self/self_ring.h
