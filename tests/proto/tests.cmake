sw_test(proto/test_json.c sw_proto)
sw_test(proto/test_frame.c sw_proto)
sw_test(proto/test_rpc.c sw_proto)
sw_test(proto/test_methods.c sw_proto)
