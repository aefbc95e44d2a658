# The CPU table's and the nets' own sources once more, float being double (float64/as_double.h): what
# they compute then has the digits that finite differences need. isa_all.c stands for cpu/isa.c,
# which chooses by the machine: in double every build of the loops is plain C.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cpu/*.c
	${CMAKE_SOURCE_DIR}/trainer/comm/*.c
	${CMAKE_SOURCE_DIR}/trainer/model/*.c
	${CMAKE_SOURCE_DIR}/trainer/net/*.c
	${CMAKE_SOURCE_DIR}/trainer/data/*.c)
list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/kernels/cpu/isa.c)
add_library(sw_double STATIC ${sources} float64/isa_all.c
	${CMAKE_SOURCE_DIR}/kernels/step.c)
# -w: warnings are for the build that ships
target_compile_options(sw_double PRIVATE -O2 -DSW_CPU_ROLLED -w)
target_compile_definitions(sw_double PRIVATE SW_DATA_DIR="${CMAKE_SOURCE_DIR}/data")
target_compile_options(sw_double PUBLIC
	"SHELL:-include ${CMAKE_CURRENT_SOURCE_DIR}/float64/as_double.h")
target_link_libraries(sw_double PUBLIC sw_flags sw_base sw_trainer_spec PkgConfig::OPENBLAS
	PkgConfig::XXHASH PkgConfig::ZLIB PkgConfig::CJSON m Threads::Threads)
sw_test(float64/test_gradients.c sw_double)
target_sources(test_float64_gradients PRIVATE float64/net_case.c)
