add_library(tls_peers OBJECT tls/peers.c)
target_link_libraries(tls_peers PUBLIC sw_tls PkgConfig::CHECK)
sw_test(tls/test_listen.c tls_peers)
