# mpich-netmod: the netmod's sources and `make mpich`.
EXTRA_DIST += docs/mpich.md docs/releases.md mpich-netmod/entries.txt mpich-netmod/overlay \
    mpich-netmod/patches mpich-netmod/scripts

# MPICH needs a libam at a fixed place; this one is refreshed by every
# `make mpich`, so a changed libam is taken over without building MPICH again.
# MPICH_FLAGS go to mpich-netmod/scripts/build (and so to MPICH's configure).
mpich_dir = $(abs_builddir)/mpich
mpich_libam = $(mpich_dir)/libam
MPICH_FLAGS =

.PHONY: mpich mpich-libam
mpich-libam: libam.la
	$(AM_V_at)$(MKDIR_P) $(mpich_libam)/include $(mpich_libam)/lib
	$(AM_V_at)for header in $(include_HEADERS); do \
	    cmp -s $(srcdir)/$$header $(mpich_libam)/include/$${header##*/} || \
	    cp $(srcdir)/$$header $(mpich_libam)/include/ || exit 1; done
	$(AM_V_at)cmp -s .libs/libam.so $(mpich_libam)/lib/libam.so || { \
	    rm -f $(mpich_libam)/lib/libam.so* && \
	    cp -P .libs/libam.so* $(mpich_libam)/lib/; }

mpich: mpich-libam
	$(srcdir)/mpich-netmod/scripts/build --with-am=$(mpich_libam) \
	    --build-dir=$(mpich_dir) $(MPICH_FLAGS)

# Other configurations of MPICH, each in a folder of its own beside that one;
# MPICH's source comes from there once it has been fetched.
MPICH_AUTO_FLAGS = --with-ch4-shmmods=auto
MPICH_AM_ONLY_FLAGS = --enable-ch4-am-only
MPICH_PER_VCI_FLAGS = --enable-thread-cs=per-vci --with-ch4-max-vcis=8

mpich_variant = $(srcdir)/mpich-netmod/scripts/build \
    --with-am=$(mpich_libam) \
    `test ! -f $(mpich_dir)/.source || \
    echo --with-mpich-source=$(mpich_dir)/source` $(MPICH_FLAGS)

.PHONY: mpich-auto mpich-am-only mpich-per-vci
mpich-auto: mpich-libam
	$(mpich_variant) --build-dir=$(mpich_dir)-auto $(MPICH_AUTO_FLAGS)

mpich-am-only: mpich-libam
	$(mpich_variant) --build-dir=$(mpich_dir)-am-only \
	    $(MPICH_AM_ONLY_FLAGS)

mpich-per-vci: mpich-libam
	$(mpich_variant) --build-dir=$(mpich_dir)-per-vci \
	    $(MPICH_PER_VCI_FLAGS)
