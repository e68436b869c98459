# OpenSSL belongs to the gateway alone: neither cloche nor libcloche.a links it. Headers name none of its types, so that
# only this room compiles against it.
if(CLOCHE_STATIC)
  set(OPENSSL_USE_STATIC_LIBS ON)
endif()
find_package(OpenSSL 3 REQUIRED)
get_target_property(kind cloche_tls TYPE)
if(kind STREQUAL "STATIC_LIBRARY")
  target_link_libraries(cloche_tls PRIVATE OpenSSL::SSL OpenSSL::Crypto ${CMAKE_DL_LIBS})
endif()
set(CLOCHE_ROOM_TEST_LIBS OpenSSL::SSL OpenSSL::Crypto)
