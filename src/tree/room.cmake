# Once more as a user without rights, to whom the modes of directories mean something.
if(CLOCHE_TESTS)
  add_test(NAME tree.as_an_ordinary_user
           COMMAND ${PROJECT_SOURCE_DIR}/tests/as_an_ordinary_user $<TARGET_FILE:tree_test> --)
  set_tests_properties(tree.as_an_ordinary_user PROPERTIES LABELS unit TIMEOUT 240)
endif()
