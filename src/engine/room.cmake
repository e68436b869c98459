# The library once more as a user without rights, whose cells are made another way: no uid of their own, no cgroups.
if(CLOCHE_TESTS)
  add_test(NAME engine.as_an_ordinary_user
           COMMAND ${PROJECT_SOURCE_DIR}/tests/as_an_ordinary_user $<TARGET_FILE:engine_test> $<TARGET_FILE:cloche-init>
                   $<TARGET_FILE:cloche-keeper> $<TARGET_FILE:cloche-gateway>
                   -- --gtest_filter=RuntimeTest.*:RuntimeKeeper.*:WayOut*)
  set_tests_properties(engine.as_an_ordinary_user PROPERTIES LABELS unit TIMEOUT 120)
endif()
