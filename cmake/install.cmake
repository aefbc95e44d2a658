# What `cmake --install` and CPack put where. Programs find one another, the CUDA module and the data
# sets from where they lie themselves, so that the tree may be moved.
#
# Components: sweepd (all but) cuda, the GPU module, and python, the package, which only CPack takes.
install(TARGETS sweepd sweep sweep-worker COMPONENT sweepd)
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/sweepd/data COMPONENT sweepd FILES_MATCHING PATTERN "*.csv")
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT sweepd)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT sweepd PATTERN __pycache__ EXCLUDE)
install(FILES clients/c/sweepd.h TYPE INCLUDE COMPONENT sweepd)
install(DIRECTORY clients/python/sweepd DESTINATION lib/python3/dist-packages COMPONENT python EXCLUDE_FROM_ALL
	PATTERN __pycache__ EXCLUDE)
if(SW_HAVE_CUDA)
	install(TARGETS sweepd-cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sweepd COMPONENT cuda)
endif()
