# Once more as a user without rights, to whom the modes of files mean something.
if(CLOCHE_TESTS)
  add_test(NAME outputs.as_an_ordinary_user
           COMMAND ${PROJECT_SOURCE_DIR}/tests/as_an_ordinary_user $<TARGET_FILE:outputs_test> --)
  set_tests_properties(outputs.as_an_ordinary_user PROPERTIES LABELS unit TIMEOUT 240)
endif()
