"""Directions in a model's state space, with arithmetic, file export and metadata."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm._base.optional import require
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, FloatArray
from psychollm._base.version import __version__

_FORMAT = "psychollm.direction.1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Direction(Result):
    """One vector per layer, in units of the mean norm of the layer's state.

    The dose, or steering strength, is the length of the added vector in units of the mean norm of
    the layer's state. Adding a vector of length one moves the state by the mean norm of the
    layer's states. Therefore, doses are comparable between layers and models. Directions of one
    model can be scaled, added and subtracted: ``0.2 * d``, ``a + b``, ``a - b``, ``-d``.

    Examples
    --------
    >>> direction = Direction(vectors=[[0.6, 0.8]], hidden_norms=[50.0], layers=(15,), kind="made")
    >>> half = direction / 2
    >>> half.doses.round(6).tolist(), half.displacement(15).round(4).tolist()
    ([0.5], [15.0, 20.0])
    """

    # None makes NumPy scalars defer multiplication to this class.
    __array_ufunc__ = None

    vectors: AnyArray  # (layers, hidden) float32
    hidden_norms: FloatArray  # (layers,) mean norm of the states
    layers: tuple[int, ...]
    kind: str  # method of construction
    model: str = ""  # name of the model
    about: Mapping[str, Any] = field(default_factory=dict)  # JSON-compatible

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", np.array(self.vectors, dtype=np.float32))
        object.__setattr__(self, "hidden_norms", np.array(self.hidden_norms, dtype=np.float64))
        n = len(self.layers)
        if self.vectors.ndim != 2 or len(self.vectors) != n or self.hidden_norms.shape != (n,):
            msg = (
                f"vectors must be (layers, hidden) and hidden_norms (layers,) for {n} layers, "
                f"got {self.vectors.shape} and {self.hidden_norms.shape}"
            )
            raise ShapeError(msg)
        if not (np.isfinite(self.vectors).all() and np.isfinite(self.hidden_norms).all()):
            msg = "a direction holds NaN or infinity: check the states that it was made from"
            raise InputError(msg)
        Result.__post_init__(self)

    @property
    def hidden_size(self) -> int:
        """Number of components of each vector."""
        return int(self.vectors.shape[1])

    @property
    def doses(self) -> FloatArray:
        """Dose, that is, length of each vector (layers,)."""
        return np.asarray(np.linalg.norm(self.vectors.astype(np.float64), axis=1))

    def place(self, layer: int) -> int:
        """Return the index of a layer's row in `vectors`.

        Raises
        ------
        OptionError
            If the direction has no vector for the layer.
        """
        if layer not in self.layers:
            msg = f"the direction has no vector for layer {layer}: it has {self.layers}"
            raise OptionError(msg)
        return self.layers.index(layer)

    def displacement(self, layer: int) -> AnyArray:
        """Return the displacement of a layer's state (hidden,) in float32.

        Raises
        ------
        OptionError
            If the direction has no vector for the layer.
        """
        row = self.place(layer)
        return np.asarray(self.vectors[row] * np.float32(self.hidden_norms[row]))

    def unit(self) -> "Direction":
        """Return the direction with every vector scaled to length one, except zero vectors."""
        doses = self.doses[:, None]
        return replace(self, vectors=self.vectors / np.where(doses > 0, doses, 1.0))

    def only(self, *layers: int) -> "Direction":
        """Return the direction restricted to some layers.

        Raises
        ------
        OptionError
            If the direction has no vector for one of the layers.
        """
        rows = [self.place(layer) for layer in layers]
        return replace(
            self, vectors=self.vectors[rows], hidden_norms=self.hidden_norms[rows], layers=layers
        )

    def cosine(self, other: "Direction") -> FloatArray:
        """Return the cosine of the angle to another direction in each layer (layers,).

        Raises
        ------
        LabelError
            If the two directions have different layers.
        ShapeError
            If the two directions have different numbers of components.
        """
        self._check_like(other, norms=False)
        a, b = self.vectors.astype(np.float64), other.vectors.astype(np.float64)
        lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((a * b).sum(axis=1) / lengths)

    def __mul__(self, factor: Any) -> "Direction":
        if isinstance(factor, Direction) or np.ndim(factor) != 0:
            return NotImplemented
        if not np.isfinite(float(factor)):
            msg = f"strength {factor!r} must be a finite number"
            raise OptionError(msg)
        return replace(self, vectors=self.vectors * np.float32(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "Direction":
        if float(divisor) == 0.0:
            msg = "a direction cannot be divided by zero"
            raise OptionError(msg)
        return self * (1.0 / float(divisor))

    def __neg__(self) -> "Direction":
        return self * -1.0

    def __add__(self, other: "Direction") -> "Direction":
        if not isinstance(other, Direction):
            return NotImplemented
        self._check_like(other, norms=True)
        kind = self.kind if self.kind == other.kind else f"{self.kind} + {other.kind}"
        return replace(self, vectors=self.vectors + other.vectors, kind=kind)

    def __sub__(self, other: "Direction") -> "Direction":
        if not isinstance(other, Direction):
            return NotImplemented
        return self + -other

    def _check_like(self, other: "Direction", *, norms: bool) -> None:
        if self.layers != other.layers:
            msg = f"the directions are for layers {self.layers} and {other.layers}: use .only()"
            raise LabelError(msg)
        if self.hidden_size != other.hidden_size:
            msg = f"the directions have {self.hidden_size} and {other.hidden_size} components"
            raise ShapeError(msg)
        if norms and not np.allclose(self.hidden_norms, other.hidden_norms, rtol=1e-6):
            msg = (
                "the directions have different state norms as units: make both from the "
                "same states, or give them the same hidden_norms"
            )
            raise OptionError(msg)

    def export_safetensors(self, path: str | PathLike[str]) -> None:
        """Write the vectors as a safetensors file for other tools, such as torch and NumPy.

        The tensors are ``vectors`` and ``hidden_norms``; all other fields are JSON in the
        metadata. `save` writes the direction for this library without further packages.

        Parameters
        ----------
        path : path
            Output file with the suffix ``.safetensors``.

        Raises
        ------
        MissingPackageError
            If safetensors is not installed.
        """
        files = require(
            "safetensors.numpy", extra="steering", purpose="writing a safetensors file"
        )
        known = {
            "layers": list(self.layers),
            "kind": self.kind,
            "model": self.model,
            "about": dict(self.about),
            "state": "what the layer returns, layers counted from 0",
            "vectors": "in units of hidden_norms",
            "version": __version__,
        }
        tensors = {
            "vectors": np.ascontiguousarray(self.vectors),
            "hidden_norms": np.ascontiguousarray(self.hidden_norms),
        }
        files.save_file(
            tensors, path, metadata={"format": _FORMAT, "direction": json.dumps(known)}
        )

    def export_gguf(self, path: str | PathLike[str], *, model_type: str) -> None:
        """Write a control vector for llama.cpp and repeng.

        Each tensor ``direction.L`` is the vector that is added to the output of layer L at
        strength one, in the model's own units. The program llama.cpp adds the vector at every
        token and cannot steer layer 0.

        Parameters
        ----------
        path : path
            Output file with the suffix ``.gguf``.
        model_type : str
            Architecture, such as ``"llama"`` (``model.config.model_type``).

        Raises
        ------
        OptionError
            If layer 0 is the only layer of the direction.
        MissingPackageError
            If gguf is not installed.
        """
        gguf = require("gguf", extra="steering", purpose="writing a GGUF file")
        layers = [layer for layer in self.layers if layer > 0]
        if not layers:
            msg = "a GGUF control vector cannot hold layer 0, and there is no other"
            raise OptionError(msg)
        writer = gguf.GGUFWriter(str(path), "controlvector")
        writer.add_string("controlvector.model_hint", model_type)
        writer.add_uint32("controlvector.layer_count", len(layers))
        for layer in layers:
            writer.add_tensor(f"direction.{layer}", self.displacement(layer))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
