"""Cases that only root can lay out, or only an ordinary user: nobody else's turn may look as if it had tried them.

Under root each file of cases has two turns, one as root and one as an ordinary user (run_cases.py). A case that belongs to
one of them is not selected in the other. Where the one it belongs to does not come, it is skipped by name, and so counted.
"""
import os
import unittest

ROOT_HAS_A_TURN = "RUN_CASES_ROOT_HAS_A_TURN"  # set by run_cases.py for the ordinary user that root becomes


def _belongs(here, elsewhere, fact):
    if here:
        return lambda case: case
    if elsewhere:
        return lambda case: None  # what cannot be called is no case
    return unittest.skip("fact missing: " + fact)


def for_root(why):
    """Decorates a case, or a class of cases, for root alone."""
    return _belongs(os.geteuid() == 0, ROOT_HAS_A_TURN in os.environ, f"root; {why}")


def for_ordinary_user(why):
    """Decorates a case, or a class of cases, for any user but root, whom root's own turn leaves to the other."""
    return _belongs(os.geteuid() != 0, True, f"an ordinary user; {why}")
