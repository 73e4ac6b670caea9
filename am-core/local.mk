# libam itself: the layers' sources, in the order of the cut.
lib_LTLIBRARIES += libam.la
libam_la_SOURCES = am-core/lib.c am-core/am/core.h am-core/am/core_inl.h \
    am-core/msg/msg.h
libam_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(SODIUM_CFLAGS) \
    $(LIBCONFIG_CFLAGS) -DAM_SYSCONFDIR='"$(sysconfdir)"' -fvisibility=hidden
libam_la_LIBADD = $(HWLOC_LIBS) $(SODIUM_LIBS) $(LIBCONFIG_LIBS)
libam_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:1

# The same objects as a library of the build, which hides nothing from a program
# that is linked with it: for tests of the inside.
check_LTLIBRARIES += libamtest.la
libamtest_la_SOURCES =
libamtest_la_LIBADD = $(libam_la_OBJECTS) $(HWLOC_LIBS) $(SODIUM_LIBS) \
    $(LIBCONFIG_LIBS)

include_HEADERS = am-core/include/am_types.h am-core/include/am.h \
    am-core/include/am_onesided.h am-core/include/am_client.h \
    am-core/include/am_msg.h am-core/include/am_time.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = am-core/am.pc
