# Stand-ins for what only a machine with a GPU has; the end-to-end tests open them by their paths.
add_library(fake_nvml MODULE fake/nvml.c)
add_library(fake_cuda MODULE fake/cuda.c)
target_link_libraries(fake_nvml PRIVATE sw_flags)
target_link_libraries(fake_cuda PRIVATE sw_flags sw_kernels)
target_link_options(fake_cuda PRIVATE -Wl,-Bsymbolic)
set_target_properties(fake_nvml fake_cuda PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden
	LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
