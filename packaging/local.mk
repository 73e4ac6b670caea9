# packaging: `make deb` builds Debian packages into deb/.  DEB_FLAGS go to
# packaging/deb.
EXTRA_DIST += NEWS SECURITY.md packaging/deb packaging/debian-libam \
    packaging/debian-mpich-am packaging/abi packaging/spack docs/packages.md

DEB_FLAGS =

.PHONY: deb
deb: dist
	$(srcdir)/packaging/deb --dist=$(distdir).tar.xz --out=$(abs_builddir)/deb \
	    $(DEB_FLAGS)
