"""Loading of a local model with a given precision on given devices.

The precision is part of the respondent, because a model with 4-bit weights answers differently
from the same model with 16-bit weights. Therefore, ``dtype`` and ``bits`` are parameters and
determine the key of a request. The device is a property of the endpoint, like the address of a
server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psychollm._base.checks import check_choice
from psychollm._base.errors import OptionError
from psychollm._base.optional import require
from psychollm.collect.wire.local_model import LocalModel

Dtype: TypeAlias = Literal["auto", "float32", "float16", "bfloat16"]
BITS = (4, 8)


class NoSuchModelError(Exception):
    """Error for a folder, file or name from which no model can be loaded."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Data type of a model's weights, and the number of bits of quantised weights."""

    dtype: str
    bits: int | None


def precision_of(parameters: Mapping[str, Any]) -> Precision:
    """Return the precision that request parameters specify.

    Raises
    ------
    OptionError
        If the data type or the number of bits is not supported.
    """
    dtype, bits = parameters.get("dtype", "auto"), parameters.get("bits")
    check_choice("dtype", dtype, Dtype)
    if bits is not None and (isinstance(bits, bool) or bits not in BITS):
        msg = f"bits={bits!r} must be 4 or 8; leave it out for unquantised weights"
        raise OptionError(msg)
    return Precision(dtype, bits)


def load(name: str, precision: Precision, device: str) -> LocalModel:
    """Load a model by its folder, its file (``.gguf``) or its name.

    Raises
    ------
    NoSuchModelError
        If the model does not exist.
    OptionError, MissingPackageError
        If the precision requires an accelerator or a package that is missing.
    """
    torch, transformers = import_module("torch"), import_module("transformers")
    words = _placed(torch, precision, device)
    if precision.bits:
        words["quantization_config"] = _rounding(torch, transformers, precision)
    # "auto" keeps the stored type of the weights. The option has a new name in transformers 5.
    newer = int(transformers.__version__.split(".")[0]) >= 5
    words["dtype" if newer else "torch_dtype"] = _type(torch, precision)
    place, file = (name, {})
    if name.endswith(".gguf"):
        place, file = str(Path(name).parent), {"gguf_file": Path(name).name}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **file)
        model = transformers.AutoModelForCausalLM.from_pretrained(place, **file, **words)
        if "device_map" not in words:
            model = model.to(device if device != "auto" else _single(torch))
    except torch.cuda.OutOfMemoryError as error:
        msg = f"model {name!r} does not fit into memory: use bits=4, or a device with more memory"
        raise OptionError(msg) from error
    except Exception as error:  # the library may raise any error for a bad folder
        msg = f"{name} cannot be loaded: {error}"
        raise NoSuchModelError(msg) from error
    model.eval()
    return LocalModel(name, tokenizer, model)


def _single(torch: Any) -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _type(torch: Any, precision: Precision) -> Any:
    return "auto" if precision.dtype == "auto" else getattr(torch, precision.dtype)


def _placed(torch: Any, precision: Precision, device: str) -> dict[str, Any]:
    """Return the device map of a model on several devices or with quantised weights."""
    several = device == "auto" and torch.cuda.device_count() > 1
    if not several and not precision.bits:
        return {}
    purpose = "spreading a model over accelerators" if several else f"bits={precision.bits}"
    require("accelerate", extra="steering", purpose=purpose)
    if device == "auto":
        return {"device_map": "auto" if several else {"": _single(torch)}}
    return {"device_map": {"": device}}


def _rounding(torch: Any, transformers: Any, precision: Precision) -> Any:
    """Return the quantisation settings; raise an error if quantisation is impossible."""
    if not torch.cuda.is_available():
        msg = f"bits={precision.bits} needs an accelerator, and none was found: leave out bits"
        raise OptionError(msg)
    require("bitsandbytes", extra="", purpose=f"bits={precision.bits}")
    if precision.bits == 8:
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    # For quantised weights, "auto" means float32, which is slower but not more precise.
    reckoned = torch.bfloat16 if precision.dtype == "auto" else _type(torch, precision)
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=reckoned
    )
