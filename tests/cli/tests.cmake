sw_test(cli/test_fmt.c sw_cli)
sw_test(cli/test_args.c sw_cli)
sw_test(cli/test_live.c sw_cli)
sw_test(cli/test_browse.c sw_cli)
sw_test(cli/test_curve.c sw_cli)
sw_test(cli/test_spec_path.c sw_cli)
sw_test(cli/test_yaml.c sw_cli)
# The whole command against a daemon of a few lines.
find_program(SW_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(SW_PYTHON NAMES python3)
if(SW_PYTHON)
	add_test(NAME cli/sweep
		COMMAND ${SW_PYTHON} -m pytest -q -p no:cacheprovider ${CMAKE_SOURCE_DIR}/tests/cli)
	set_tests_properties(cli/sweep PROPERTIES TIMEOUT 300
		ENVIRONMENT "SWEEP_BIN=$<TARGET_FILE:sweep>;PYTHONDONTWRITEBYTECODE=1")
endif()
