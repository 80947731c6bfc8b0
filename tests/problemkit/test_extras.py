"""Optional packages: what is imported, and what is said where one is missing."""

import json

import pytest

from coevo.errors import ExtraMissingError
from coevo.problemkit.extras import import_extra


def test_an_installed_module_is_returned():
    """The module itself, also one inside a package."""
    assert import_extra("json", "solvers", "nothing") is json
    assert import_extra("json.decoder", "solvers", "nothing") is json.decoder


def test_a_missing_package_is_named_with_its_extra_and_its_purpose():
    """The package, not the module inside it."""
    with pytest.raises(ExtraMissingError, match=r"the solver made.*coevo\[solvers\]") as caught:
        import_extra("no_such_package.inner", "solvers", "the solver made")
    assert "no_such_package" in str(caught.value)
    assert "inner" not in str(caught.value)
