"""The one door to optional packages."""

from importlib import import_module
from typing import Any

from psychollm._base.errors import MissingPackageError


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Import an optional module, or say which extra brings it; "" is for what none brings."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        source = f'"psychollm[{extra}]"' if extra else package
        msg = f"{purpose} needs {package}: pip install {source}"
        raise MissingPackageError(msg, name=package) from error
