# am-core/base
libam_la_SOURCES += \
    am-core/base/assert.c am-core/base/assert.h \
    am-core/base/barrier.c am-core/base/barrier.h \
    am-core/base/binalloc.c am-core/base/binalloc.h \
    am-core/base/config.c am-core/base/config.h \
    am-core/base/config_value.c am-core/base/config_value.h \
    am-core/base/copy.c am-core/base/copy.h \
    am-core/base/env.c am-core/base/env.h \
    am-core/base/file.c am-core/base/file.h \
    am-core/base/forked.c am-core/base/forked.h \
    am-core/base/list.h \
    am-core/base/log.c am-core/base/log.h \
    am-core/base/pool.c am-core/base/pool.h \
    am-core/base/crc32c.c am-core/base/crc32c.h \
    am-core/base/prng.c am-core/base/prng.h \
    am-core/base/ring.c am-core/base/ring.h am-core/base/ring_inl.h \
    am-core/base/seqwin.c am-core/base/seqwin.h \
    am-core/base/stats.c am-core/base/stats.h \
    am-core/base/status.c \
    am-core/base/text.c am-core/base/text.h \
    am-core/base/trace.c am-core/base/trace.h \
    am-core/base/twheel.c am-core/base/twheel.h
