# test/tidy
