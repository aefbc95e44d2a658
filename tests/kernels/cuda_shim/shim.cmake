# The CUDA backend on a stand-in device, and its tests. A GPU is not needed, nor a CUDA toolkit; a
# C++ compiler is, for the kernels.
if(CMAKE_C_COMPILER MATCHES "clang(-?[0-9]*)$" AND NOT CMAKE_CXX_COMPILER)
	# Of one family, or the sanitizers' libraries differ.
	string(REGEX REPLACE "clang(-?[0-9]*)$" "clang++\\1" twin ${CMAKE_C_COMPILER})
	if(EXISTS ${twin})
		set(CMAKE_CXX_COMPILER ${twin})
	endif()
endif()
include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
	message(STATUS "No C++ compiler: the tests of the CUDA kernels' logic are left out")
	return()
endif()
enable_language(CXX)

set(here ${CMAKE_CURRENT_LIST_DIR})
file(GLOB shim_kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cu)
file(GLOB shim_hosts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.c)
set_source_files_properties(${shim_kernels} PROPERTIES LANGUAGE CXX) # in this folder's targets alone
add_library(sw_cuda_shim STATIC ${shim_kernels} ${shim_hosts}
	${here}/shim_blas.c ${here}/shim_device.c ${here}/shim_graph.c ${here}/shim_order.c ${here}/shim_stream.c
	 ${here}/shim_threads.c ${here}/shim_watch.c)
set_target_properties(sw_cuda_shim PROPERTIES CXX_STANDARD 14 CXX_STANDARD_REQUIRED ON)
# The shim's folder stands where the toolkit's headers would be: the one folder that is on -I.
target_include_directories(sw_cuda_shim PUBLIC ${here})
target_link_libraries(sw_cuda_shim PUBLIC sw_flags sw_base m)
# Few blocks, so that small shapes need every loop over the grid; a small workspace of cuBLAS, for the watch
# keeps many bytes for each that is written.
target_compile_definitions(sw_cuda_shim PUBLIC SW_CUDA_GRID_MAX=3 SW_CUDA_PARTIAL_MAX=3
	SW_CUDA_COLUMNS_BYTES=4096 SW_CUDA_PARTIAL_BYTES=256 SW_CUDA_PART_VALUES=256
	SW_CUDA_BLAS_BYTES=262144)
separate_arguments(shim_flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
target_compile_options(sw_cuda_shim PRIVATE -ffp-contract=off
	"$<$<COMPILE_LANGUAGE:CXX>:${shim_flags};-Wall;-Wextra;-Wshadow;-Wconversion>")
target_link_options(sw_cuda_shim PUBLIC ${shim_flags}) # the linker is now C++'s
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize") # shim_watch.c is called at each access of a kernel
	set_source_files_properties(${shim_kernels} PROPERTIES COMPILE_OPTIONS -fsanitize=thread)
	target_compile_definitions(sw_cuda_shim PUBLIC SW_SHIM_WATCH)
endif()
if(SW_WERROR)
	target_compile_options(sw_cuda_shim PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

foreach(noun cuda_ops cuda_linear cuda_losses cuda_images cuda_conv cuda_norm cuda_tokens
	cuda_queue cuda_beside)
	sw_test(kernels/test_${noun}.c sw_cuda_shim sw_kernels)
	target_sources(test_kernels_${noun} PRIVATE ${here}/twin.c kernels/sums.c)
	if(TARGET sw_cuda) # the same on a GPU; skipped, and said so, where there is none
		add_executable(test_kernels_gpu_${noun} kernels/test_${noun}.c ${here}/twin.c kernels/sums.c)
		target_compile_definitions(test_kernels_gpu_${noun} PRIVATE SW_TEST_GPU)
		target_link_libraries(test_kernels_gpu_${noun} PRIVATE sw_cuda sw_kernels
			PkgConfig::CHECK)
		set_target_properties(test_kernels_gpu_${noun} PROPERTIES
			RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
			BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}")
		add_test(NAME kernels/gpu_${noun} COMMAND test_kernels_gpu_${noun})
		set_tests_properties(kernels/gpu_${noun} PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
	endif()
endforeach()
# Their kernels' accesses are watched without sanitizers; trainer/cuda_net and its like run the same ones.
set_tests_properties(kernels/cuda_linear kernels/cuda_conv PROPERTIES LABELS once)
sw_test(kernels/test_cuda_open.c sw_cuda_shim)
sw_test(kernels/test_cuda_load.c sw_cuda_shim)
sw_test(kernels/test_cuda_space.c sw_cuda_shim)
sw_test(kernels/test_cuda_product.c sw_cuda_shim m)
set_source_files_properties(kernels/test_cuda_divisor.cu PROPERTIES LANGUAGE CXX)
sw_test(kernels/test_cuda_divisor.cu sw_cuda_shim)
