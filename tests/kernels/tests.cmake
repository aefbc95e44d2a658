# What references are summed by is no part of what sanitizers are to see, and most of what these tests compute.
set_source_files_properties(kernels/sums.c PROPERTIES COMPILE_OPTIONS "-O2;-fno-sanitize=all")
sw_test(kernels/test_backend.c sw_kernels)
sw_test(kernels/test_edges.c sw_kernels m)
target_sources(test_kernels_edges PRIVATE kernels/sums.c)
sw_test(kernels/test_threads.c sw_kernels m)
target_sources(test_kernels_threads PRIVATE kernels/sums.c)
include(${CMAKE_CURRENT_LIST_DIR}/cuda_shim/shim.cmake)
