sw_test(plot/test_plot.c sw_plot)
sw_test(plot/test_chosen.c sw_plot)
