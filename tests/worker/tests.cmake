sw_test(worker/test_csv.c sw_worker)
sw_test(worker/test_model.c sw_worker)
sw_test(worker/test_train.c sw_worker m)
sw_test(worker/test_session.c sw_worker Threads::Threads)
