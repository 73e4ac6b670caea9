[#] start of __file__
dnl MPICH_SUBCFG_AFTER=src/mpid/ch4

AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[
    AM_COND_IF([BUILD_CH4],[
        for net in $ch4_netmods ; do
            AS_CASE([$net],[am],[build_ch4_netmod_am=yes])
            if test $net = "am" ; then
                AC_DEFINE(HAVE_CH4_NETMOD_AM,1,[am netmod is built])
                if test "$build_ch4_locality_info" != "yes" ; then
                    AC_DEFINE(MPIDI_BUILD_CH4_LOCALITY_INFO, 1, [CH4 should build locality info])
                    build_ch4_locality_info="yes"
                fi
            fi
        done
    ])
    AM_CONDITIONAL([BUILD_CH4_NETMOD_AM],[test "X$build_ch4_netmod_am" = "Xyes"])
])dnl

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
AM_COND_IF([BUILD_CH4_NETMOD_AM],[
    AC_MSG_NOTICE([RUNNING CONFIGURE FOR ch4:am])

    PAC_CHECK_HEADER_LIB_FATAL([am],[am_msg.h],[am],[am_msg_isend])

    AC_MSG_CHECKING([whether libam's interface is one that this module knows])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([#include <am_msg.h>],[
                       #if AM_VERSION_MAJOR != 0 || AM_VERSION_MINOR < 2
                       #error
                       #endif
                       return 0;])],[am_known=yes],[am_known=no])
    AC_MSG_RESULT([$am_known])
    if test "$am_known" = "no" ; then
        AC_MSG_ERROR([the libam that was found is too old or too new for this module; give another with --with-am=PREFIX])
    fi

    dnl so that mpichversion and MPI_Get_library_version name it
    am_version=`(echo "#include <am_types.h>"; echo AM_VERSION_STRING) | $CPP -P $CPPFLAGS - 2>/dev/null | tail -n 1 | tr -d '"'`
    MPICH_CUSTOM_STRING="${MPICH_CUSTOM_STRING:+$MPICH_CUSTOM_STRING, }netmod am on libam $am_version"

    dnl libmpi finds a shared libam where it was found now; the loader looks
    dnl below /usr anyway
    if test "X$with_am_lib" != "X" ; then
        PAC_APPEND_FLAG([-Wl,-rpath,$with_am_lib],[LDFLAGS])
    elif test "X$with_am" != "X" && test "$with_am" != "yes" && test "$with_am" != "/usr" ; then
        PAC_APPEND_FLAG([-Wl,-rpath,$with_am/lib],[LDFLAGS])
    fi
])dnl end AM_COND_IF(BUILD_CH4_NETMOD_AM,...)
])dnl end _BODY

[#] end of __file__
