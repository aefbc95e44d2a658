# `cpack` in the build folder makes sweepd, sweepd-cuda (if it was built) and python3-sweepd as .deb files.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/deb_version.cmake)
set(CPACK_PACKAGE_CONTACT "the sweepd project")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/deb)
set(CPACK_COMPONENTS_ALL sweepd python)
if(SW_HAVE_CUDA)
	list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(scripts ${CMAKE_SOURCE_DIR}/packaging/deb)

set(CPACK_DEBIAN_SWEEPD_PACKAGE_NAME sweepd)
set(CPACK_DEBIAN_SWEEPD_DESCRIPTION "daemon that tunes hyperparameters on a machine or a cluster
 It samples configurations, trains them in worker processes or runs your program,
 stops the losers early, and keeps every result in SQLite.")
set(CPACK_DEBIAN_SWEEPD_PACKAGE_SUGGESTS "sweepd-cuda, python3-sweepd, slurm-client, openssh-client, xdg-utils")
set(CPACK_DEBIAN_SWEEPD_PACKAGE_CONTROL_EXTRA
	${scripts}/sweepd/prerm ${scripts}/sweepd/postinst ${scripts}/sweepd/postrm)

set(CPACK_DEBIAN_CUDA_PACKAGE_NAME sweepd-cuda)
set(CPACK_DEBIAN_CUDA_DESCRIPTION "GPU backend of sweepd
 It needs NVIDIA's driver; cuBLAS for large layers, and NCCL for several GPUs in one trial.")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" cuda "${CUDAToolkit_VERSION}")
string(REPLACE . - cuda "${cuda}")
set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS "libcublas-${cuda}, libnccl2")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-sweepd)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "Python client of sweepd")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.8)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS sweepd)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${scripts}/python3-sweepd/postinst ${scripts}/python3-sweepd/prerm)
include(CPack)
