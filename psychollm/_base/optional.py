"""Import of optional packages, and checks of torch devices."""

from importlib import import_module
from typing import Any

from psychollm._base.errors import MissingPackageError, OptionError


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Import an optional module; if it is missing, the error names the extra that installs it.

    An empty `extra` means that no extra installs the module; the error then names its package.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        source = f'"psychollm[{extra}]"' if extra else package
        msg = f"{purpose} needs {package}: pip install {source}"
        raise MissingPackageError(msg, name=package) from error


def torch_on(device: str) -> Any:
    """Return torch; raise `OptionError` if the device does not support 64-bit floats."""
    torch = require("torch", extra="steering", purpose="device=")
    check_device(torch, device, otherwise="None", dtype="float64")
    return torch


def check_device(torch: Any, device: str, *, otherwise: str, dtype: str = "uint8") -> None:
    """Raise `OptionError` unless torch supports a number type on a device."""
    try:
        torch.zeros(1, dtype=getattr(torch, dtype), device=device).cpu()
    except (RuntimeError, AssertionError, TypeError) as error:
        here = ["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count()))]
        why = str(error).partition("\n")[0]
        msg = (
            f"device={device!r} cannot be used ({why}): use {otherwise}, or one of "
            f"{', '.join(here)}"
        )
        raise OptionError(msg) from error
