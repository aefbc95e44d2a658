# What `cmake --install` and CPack put where. Programs find one another, the CUDA module and the data
# sets from where they lie themselves, so that the tree may be moved.
#
# Components: sweepd (all but) cuda, the GPU module, and python, the package, which only CPack takes.
install(TARGETS sweepd sweep sweep-web sweep-worker COMPONENT sweepd)
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/sweepd/data COMPONENT sweepd FILES_MATCHING PATTERN "*.csv")
install(PROGRAMS executors/slurm executors/ssh DESTINATION libexec/sweepd/executors COMPONENT sweepd)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT sweepd)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT sweepd PATTERN __pycache__ EXCLUDE)
install(FILES clients/c/sweepd.h TYPE INCLUDE COMPONENT sweepd)
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(man ${CMAKE_BINARY_DIR}/man)
set(pages ${man}/sweep.1 ${man}/sweepd.8 ${man}/sweepd-spec.5)
add_custom_command(OUTPUT ${pages}
	COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/man $<TARGET_FILE_DIR:sweep> ${man}
	DEPENDS sweep sweepd ${CMAKE_SOURCE_DIR}/scripts/man VERBATIM)
add_custom_target(manpages ALL DEPENDS ${pages})
foreach(section 1 5 8)
	set(in ${pages})
	list(FILTER in INCLUDE REGEX "\\.${section}$")
	install(FILES ${in} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT sweepd)
endforeach()
install(FILES cli/completion/sweep.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sweep
	COMPONENT sweepd)
install(FILES cli/completion/_sweep DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT sweepd)
install(FILES cli/completion/sweep.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT sweepd)
install(DIRECTORY clients/python/sweepd clients/python/hydra_plugins DESTINATION lib/python3/dist-packages
	COMPONENT python EXCLUDE_FROM_ALL PATTERN __pycache__ EXCLUDE)
if(SW_HAVE_CUDA)
	install(TARGETS sweepd-cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sweepd COMPONENT cuda)
endif()

# Units name the folder that was installed to, which is known only then.
set(units ${CMAKE_SOURCE_DIR}/packaging/systemd)
set(made ${CMAKE_BINARY_DIR}/units)
install(CODE "set(BIN \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
	set(DOC \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/docs\")
	foreach(unit sweepd.service sweepd-web.service sweepd@.service)
		configure_file(${units}/\${unit} ${made}/\${unit} @ONLY)
	endforeach()" COMPONENT sweepd)
install(FILES ${made}/sweepd@.service ${units}/sweepd@.socket DESTINATION lib/systemd/system COMPONENT sweepd)
# Read there under any prefix, ~/.local too.
install(FILES ${made}/sweepd.service ${made}/sweepd-web.service ${units}/sweepd.socket DESTINATION ${CMAKE_INSTALL_DATADIR}/systemd/user
	COMPONENT sweepd)
