sw_test(base/test_buf.c sw_base)
sw_test(base/test_turns.c sw_base)
sw_test(base/test_log.c sw_base)
sw_test(base/test_philox.c sw_base)
