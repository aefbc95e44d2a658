foreach(noun rows store fault)
	sw_test(store/test_${noun}.c sw_store)
endforeach()
