# The library once more as a user without rights, whose cells are made another way: no uid of their own, no cgroups.
if(CLOCHE_TESTS)
  add_test(NAME engine.as_an_ordinary_user
           COMMAND sh -c "test $(id -u) != 0 || set -- setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"; exec \"$@\""
                   sh $<TARGET_FILE:engine_test> --gtest_filter=RuntimeTest.*:RuntimeKeeper.*)
  set_tests_properties(engine.as_an_ordinary_user PROPERTIES LABELS unit TIMEOUT 120)
endif()
