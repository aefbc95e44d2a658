# Run by each build: writes OUT, which defines sw_commit_of_build, if the commit is another one than it says.
# An archive of `git archive` has its commit in commit.txt.
execute_process(COMMAND git -C ${CMAKE_CURRENT_LIST_DIR} describe --always --dirty --abbrev=10
	OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
	file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt commit LIMIT_COUNT 1)
endif()
if(NOT commit MATCHES "^[0-9A-Za-z._-]+$")
	set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "extern const char sw_commit_of_build[];\nconst char sw_commit_of_build[] = \"${commit}\";\n" @ONLY)
