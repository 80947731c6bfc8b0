import subprocess
import sys

import pytest

import coevo


@pytest.mark.parametrize("name", coevo.__all__)
def test_every_listed_name_is_there(name):
    """What `__all__` lists can be imported, and has a docstring."""
    assert getattr(coevo, name).__doc__


def test_a_name_that_is_not_listed_is_an_attribute_error():
    """A typing mistake is reported as such."""
    with pytest.raises(AttributeError, match="no attribute 'serach'"):
        coevo.serach  # noqa: B018


def test_names_stay_functions_after_their_modules_are_loaded():
    """Loading the whole package does not put a module in the place of a function."""
    code = "import coevo, coevo.cli, coevo.searching.api; print(callable(coevo.search), callable(coevo.evaluate))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "True True"
