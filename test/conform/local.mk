# test/conform
