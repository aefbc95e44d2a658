# sw_target(NAME DEPS...): what every target of the tree has in common.
add_library(sw_flags INTERFACE)
target_include_directories(sw_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(sw_flags INTERFACE _GNU_SOURCE SW_VERSION="${PROJECT_VERSION}")
target_compile_options(sw_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:
	-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
	-Wpointer-arith -Wundef -Wformat=2>)
if(SW_WERROR)
	target_compile_options(sw_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()
if(SW_FAULTS)
	target_compile_definitions(sw_flags INTERFACE SW_FAULTS)
endif()

function(sw_library name)
	file(GLOB sources CONFIGURE_DEPENDS *.c */*.c)
	add_library(sw_${name} STATIC ${sources})
	target_link_libraries(sw_${name} PUBLIC sw_flags ${ARGN})
endfunction()
