sw_test(daemon/test_device.c sw_daemon)
sw_test(daemon/test_metrics.c sw_daemon)
sw_test(daemon/test_plan.c sw_daemon)
sw_test(daemon/test_statedir.c sw_daemon)
