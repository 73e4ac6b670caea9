# docs: what is read, and the manual pages, which scripts/man-pages writes from
# what the programs say of themselves.
EXTRA_DIST += docs/architecture.md docs/figures docs/glossary.md docs/network.md \
    docs/performance.md docs/variables.md scripts/man-pages scripts/variables

if BUILD_MAN
MAN_PAGE = $(AM_V_GEN)$(MKDIR_P) docs && \
    $(PYTHON3) $(srcdir)/scripts/man-pages --build . \
    --emulator '$(EMULATOR)' $(@F) >$@.part && \
    mv $@.part $@
tools_man = docs/am_info.1 docs/am_perf.1 docs/am_tune.1
if BUILD_SIM
tools_man += docs/am_sim.1
endif
nodist_man_MANS = $(tools_man) docs/libam.7
CLEANFILES += docs/am_info.1 docs/am_perf.1 docs/am_sim.1 docs/am_tune.1 \
    docs/libam.7
docs/am_info.1: am_info$(EXEEXT) scripts/man-pages
	$(MAN_PAGE)
docs/am_perf.1: am_perf$(EXEEXT) am_info$(EXEEXT) scripts/man-pages
	$(MAN_PAGE)
docs/am_sim.1: am_sim$(EXEEXT) am_info$(EXEEXT) scripts/man-pages
	$(MAN_PAGE)
docs/am_tune.1: am_tune$(EXEEXT) am_info$(EXEEXT) scripts/man-pages
	$(MAN_PAGE)
docs/libam.7: am_info$(EXEEXT) scripts/man-pages
	$(MAN_PAGE)
endif
