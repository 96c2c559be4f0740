"""Every public function has an example in its docstring that calls it."""

import inspect

import pytest

from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions


@pytest.mark.parametrize("name", sorted(public_functions()))
def test_the_docstring_calls_the_function(name: str) -> None:
    if name in WITHOUT_EXAMPLE:
        with pytest.raises((LookupError, NameError)):
            example_call(name)
        return
    try:
        function, arguments = public_functions()[name], example_call(name)
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    known = inspect.signature(function).parameters
    assert set(arguments) <= set(known)
    assert arguments or not known
