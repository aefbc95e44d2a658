# Stand-ins for what only a machine with a GPU has, or one whose clock is set and whose disk fails;
# the end-to-end tests open them by their paths.
add_library(fake_nvml MODULE fake/nvml.c fake/nvml_state.c)
add_library(fake_cuda MODULE fake/cuda.c)
add_library(one_card MODULE fake/one_card.c)
add_library(fake_system MODULE fake/system.c)
target_link_libraries(fake_nvml PRIVATE sw_flags)
target_link_libraries(fake_cuda PRIVATE sw_flags sw_kernels)
target_link_libraries(one_card PRIVATE sw_flags sw_base ${CMAKE_DL_LIBS})
target_link_libraries(fake_system PRIVATE sw_flags)
target_compile_options(fake_system PRIVATE -fno-sanitize=all) # it is called before a sanitizer is ready
target_link_options(fake_cuda PRIVATE -Wl,-Bsymbolic)
set_target_properties(fake_nvml fake_cuda one_card PROPERTIES C_VISIBILITY_PRESET hidden)
set_target_properties(fake_nvml fake_cuda one_card fake_system PROPERTIES PREFIX ""
	LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
