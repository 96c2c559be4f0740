"""Devices that torch computes on."""

from typing import Any

from psychollm._base.errors import OptionError
from psychollm._base.optional import require


def torch_on(device: str) -> Any:
    """Return torch, or raise `OptionError` unless it has 64-bit numbers on a device."""
    torch = require("torch", extra="steering", purpose="device=")
    check_device(torch, device, otherwise="None", dtype="float64")
    return torch


def check_device(torch: Any, device: str, *, otherwise: str, dtype: str = "uint8") -> None:
    """Raise `OptionError` unless torch can use a device, and a type of numbers there."""
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
