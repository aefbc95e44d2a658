# Read by cpack each time: a package of a later commit has a later version, else apt would not upgrade to it.
execute_process(COMMAND git -C ${CMAKE_CURRENT_LIST_DIR} log -1 --format=%cd --date=format-local:%Y%m%d.%H%M%S
	OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(date)
	string(APPEND CPACK_PACKAGE_VERSION +${date})
endif()
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "sweepd (= ${CPACK_PACKAGE_VERSION})")
