sw_test(base/test_buf.c sw_base)
