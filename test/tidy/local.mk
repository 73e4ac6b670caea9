# test/tidy: checks of the source tree, in python3; see each script's head
tidy_checks = \
    test/tidy/includes.py \
    test/tidy/calls.py \
    test/tidy/text.py \
    test/tidy/docs.py \
    test/tidy/built.py \
    test/tidy/sizes.py \
    test/tidy/headers.py \
    test/tidy/symbols.py \
    test/tidy/abi.py \
    test/tidy/patches.py \
    test/tidy/entries.py \
    test/tidy/selftest.py
dist_check_SCRIPTS += $(tidy_checks)
EXTRA_DIST += test/tidy/tree.py test/tidy/sizes.txt
TESTS += $(tidy_checks)
