# The simulator: a program of its own, whose seeds 1..200 are a test.
add_executable(sim sim/main.c sim/plan.c sim/curve.c sim/queue.c sim/world.c sim/user.c sim/feed.c
	sim/fail.c sim/oracle.c sim/oracle_end.c sim/oracle_sweep.c sim/oracle_trial.c sim/oracle_prune.c
	sim/oracle_asha.c sim/oracle_rules.c sim/oracle_pbt.c sim/shrink.c sim/print.c)
target_link_libraries(sim PRIVATE sweep_invariant)
set_target_properties(sim PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME sched/sim COMMAND sim --seeds 1..200)
set_tests_properties(sched/sim PROPERTIES TIMEOUT 900 ENVIRONMENT "OPENBLAS_NUM_THREADS=1")
