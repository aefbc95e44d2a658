# Read by cpack each time: a package of a later commit has a later version, else apt would not upgrade to it.
# Commits are counted, because those of a rebase have one date.
execute_process(COMMAND git -C ${CMAKE_CURRENT_LIST_DIR} rev-list --count HEAD
	OUTPUT_VARIABLE commits OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(commits)
	string(APPEND CPACK_PACKAGE_VERSION +${commits})
else()
	message(WARNING "git does not count the commits here: apt will not take this package for an upgrade of an earlier one")
endif()
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "sweepd (= ${CPACK_PACKAGE_VERSION})")
