# Once more as a user without rights, to whom the modes of directories mean something.
if(CLOCHE_TESTS)
  add_test(NAME tree.as_an_ordinary_user
           COMMAND sh -c "test $(id -u) != 0 || set -- setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"; exec \"$@\""
                   sh $<TARGET_FILE:tree_test>)
  set_tests_properties(tree.as_an_ordinary_user PROPERTIES LABELS unit TIMEOUT 240)
endif()
