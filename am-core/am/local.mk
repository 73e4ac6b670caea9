# am-core/am
libam_la_SOURCES += \
    am-core/am/default.c \
    am-core/am/pmi.c am-core/am/pmi.h \
    am-core/am/pmi_text.c
