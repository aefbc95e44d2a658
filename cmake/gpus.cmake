# Which GPUs CUDA is built for: SW_GPUS=all, or those that are here; where there is none, or none of
# these, all. Each kind takes a third of a minute of two cores.
set(SW_GPUS "here" CACHE STRING "here, or all: which GPUs the CUDA backend is built for")
# A100, H100 and H200, B200, the RTX of the same year; an older toolkit does not know them all.
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known)
set(CMAKE_CUDA_ARCHITECTURES "")
set(here "")
if(NOT SW_GPUS STREQUAL "all")
	execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
		OUTPUT_VARIABLE here ERROR_QUIET)
endif()
string(REGEX MATCHALL "[0-9]+\\.[0-9]" here "${here}")
foreach(gpu 80 90 100 120)
	if(NOT known MATCHES "sm_${gpu}\n")
		continue()
	endif()
	list(APPEND all ${gpu}-real)
	foreach(capability ${here})
		# Code of one kind runs on all with the same first digits, such as 8.6.
		string(REGEX MATCH "^[0-9]+" major ${capability})
		if(gpu STREQUAL "${major}0")
			list(APPEND CMAKE_CUDA_ARCHITECTURES ${gpu}-real)
		endif()
	endforeach()
endforeach()
list(REMOVE_DUPLICATES CMAKE_CUDA_ARCHITECTURES)
if(NOT CMAKE_CUDA_ARCHITECTURES)
	list(POP_BACK all newest)
	string(REPLACE "-real" "" newest ${newest}) # as PTX too, for the kinds to come
	set(CMAKE_CUDA_ARCHITECTURES ${all} ${newest})
endif()
