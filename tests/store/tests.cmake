foreach(noun peek rows reads filter store fault file kill best wal erase)
	sw_test(store/test_${noun}.c sw_store)
endforeach()
