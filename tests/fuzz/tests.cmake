# tests/fuzz/fuzz_<target>.c: every build replays its corpus; with -DSW_FUZZ=ON and clang there is a
# libFuzzer binary too: build/tests/fuzz_json tests/fuzz/corpus/json
foreach(target json rpc spec yaml)
	set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${target})
	set(library sw_trainer_spec)
	if(target STREQUAL yaml)
		set(library sw_cli)
		list(APPEND corpus ${CMAKE_SOURCE_DIR}/tests/fixtures/wandb)
	endif()
	add_executable(replay_${target} fuzz/fuzz_${target}.c fuzz/replay.c)
	target_link_libraries(replay_${target} PRIVATE ${library})
	set_target_properties(replay_${target} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
	add_test(NAME fuzz/${target} COMMAND replay_${target} ${corpus})
	set_tests_properties(fuzz/${target} PROPERTIES TIMEOUT 300)
	if(SW_FUZZ)
		add_executable(fuzz_${target} fuzz/fuzz_${target}.c)
		target_compile_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
		target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
		target_link_libraries(fuzz_${target} PRIVATE ${library})
		set_target_properties(fuzz_${target} PROPERTIES
			RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
	endif()
endforeach()
