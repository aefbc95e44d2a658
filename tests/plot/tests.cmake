sw_test(plot/test_plot.c sw_plot)
