foreach(noun rows store)
	sw_test(store/test_${noun}.c sw_store)
endforeach()
