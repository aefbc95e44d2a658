sw_test(kernels/test_ops.c sw_kernels m)
sw_test(kernels/test_optim.c sw_kernels m)
sw_test(kernels/test_backend.c sw_kernels)
include(${CMAKE_CURRENT_LIST_DIR}/cuda_shim/shim.cmake)
