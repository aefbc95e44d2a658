"""What runs a second time, with sanitizers (SWEEPD_SANITIZED): all but what is marked once(why)."""
import pytest


def first_again(values):
    """Parameters of which the first alone runs again: the others run the same code."""
    first, *others = values
    return [first, *(pytest.param(value, marks=pytest.mark.once("as the first")) for value in others)]
