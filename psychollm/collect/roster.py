"""Endpoints and models of a run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from psychollm._base.checks import hold_counts
from psychollm._base.errors import OptionError
from psychollm._base.names import shortened
from psychollm.collect.secrets import (
    check_address,
    check_headers,
    is_secret,
    printed,
    variable,
)
from psychollm.collect.wire import WIRES
from psychollm.collect.wire.protocol import Wire

LONGEST_NAME, LONGEST_URL = 200, 8000  # largest numbers of characters
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# The client sets these headers itself, because it reads replies in parts and does not decompress
# them.
_OWN_HEADERS = frozenset({"accept-encoding", "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server, its API format, and its limits.

    Examples
    --------
    >>> Endpoint(name="here", url="http://127.0.0.1:8080/v1").wire_format.name
    'openai-chat'
    """

    name: str
    url: str = ""  # empty for models in this process
    wire: str = "openai-chat"
    key: str | None = None  # name of the environment variable with the secret
    key_command: str | None = None  # command that prints the secret; rerun if it is rejected
    stream: bool = False  # whether to request replies as streams
    device: str = "auto"  # device of models in this process: "cpu", "cuda:1", "auto"
    batch: bool = False  # whether requests are submitted in batches
    poll: float = 30.0  # seconds between two queries of a batch's status
    headers: Mapping[str, str] = field(default_factory=dict)
    concurrency: int = 32  # largest number of concurrent requests
    start_concurrency: int = 8
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 120.0  # seconds for one whole exchange
    attempts: int = 6  # largest number of attempts per request, not counting busy servers
    patience: float = 1800.0  # seconds without an answer after which a busy server is abandoned
    longest_wait: float = 900.0  # seconds; longest Retry-After that is respected

    def __post_init__(self) -> None:
        where = f"endpoint {self.name!r}: "
        if self.wire not in WIRES:
            msg = f"{where}wire={self.wire!r} is unknown: use one of {', '.join(WIRES)}"
            raise OptionError(msg)
        if self.wire_format.local and self.url:
            msg = f"{where}models of wire={self.wire!r} run in this process: leave out url"
            raise OptionError(msg)
        if not self.wire_format.local:
            _check_url(self.url, where)
            if self.device != "auto":
                msg = f"{where}wire={self.wire!r} uses a server: leave out device"
                raise OptionError(msg)
        _check_headers(self.headers, where)
        if self.key is not None and (is_secret(self.key) or not _VARIABLE.fullmatch(self.key)):
            # Omit the value, which may be the secret itself, from the message.
            msg = f"{where}key must be the name of an environment variable, not the secret"
            raise OptionError(msg)
        if self.key is not None and self.key_command is not None:
            msg = f"{where}key and key_command both give a secret: pass one of them"
            raise OptionError(msg)
        if self.stream and not self.wire_format.streams:
            msg = f"{where}wire={self.wire!r} does not support streams: leave out stream"
            raise OptionError(msg)
        if not isinstance(self.batch, bool):
            msg = f"{where}batch={self.batch!r} must be true or false"
            raise OptionError(msg)
        if self.batch and (self.wire_format.batches is None or self.stream):
            msg = (
                f"{where}wire={self.wire!r} does not support batch, or not together with stream: "
                "omit batch"
            )
            raise OptionError(msg)
        hold_counts(self, "concurrency", "start_concurrency", "attempts", prefix=where)
        waits = ("timeout", "patience", "poll", "longest_wait")
        for name in ("requests_per_minute", "tokens_per_minute", *waits):
            value = getattr(self, name)
            if value is not None and not value > 0:
                msg = f"{where}{name}={value!r} must be above zero"
                raise OptionError(msg)

    @property
    def wire_format(self) -> Wire:
        """The API format."""
        return WIRES[self.wire]

    def secret(self) -> str | None:
        """Return the secret, from the environment or from the output of a command.

        Raises
        ------
        OptionError
            If the secret is missing or is not one line of plain ASCII.
        """
        where = f"endpoint {self.name!r}: "
        if self.key_command is not None:
            return printed(self.key_command, where)
        return None if self.key is None else variable(self.key, where)


def _check_url(url: str, where: str) -> None:
    """Raise an error if an address is invalid or contains secrets; the error omits the address."""
    if not re.fullmatch(r"https?://[^\s@]+", url):
        msg = f"{where}url must begin with http:// or https:// and hold no password"
        raise OptionError(msg)
    try:
        parts = urlsplit(url)
        complete = bool(parts.hostname) and parts.port != 0
    except ValueError:
        complete = False
    if len(url) > LONGEST_URL:
        msg = f"{where}url has more than {LONGEST_URL:,} characters: shorten it"
        raise OptionError(msg)
    if not complete or not url.isprintable():
        msg = f"{where}url has no valid host and port"
        raise OptionError(msg)
    check_address(url, where)


def _check_headers(headers: Mapping[str, Any], where: str) -> None:
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OWN_HEADERS:
            msg = f"{where}header {name!r} cannot be set"
            raise OptionError(msg)
        if not (isinstance(value, str) and value.isascii() and value.isprintable()):
            msg = f"{where}header {name} must be one line of plain ASCII text"
            raise OptionError(msg)
    check_headers(headers, where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Price per million tokens, in any currency.

    Examples
    --------
    >>> Prices(input=1.0, output=2.0).of(500_000, 250_000)
    1.0
    """

    input: float = 0.0
    output: float = 0.0

    def __post_init__(self) -> None:
        for name, price in (("input", self.input), ("output", self.output)):
            if not 0.0 <= price < 1e9:
                msg = f"prices: {name}={price!r} must be a number of at least 0"
                raise OptionError(msg)

    def of(self, input_tokens: float, output_tokens: float) -> float:
        """Return the price of a number of tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One respondent: a model at an endpoint, with its system prompt and parameters.

    Examples
    --------
    >>> Model(name="terse", endpoint="here", model="org/m").model
    'org/m'
    """

    name: str
    endpoint: str
    model: str  # the model's name on the server
    system: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    prices: Prices | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable() or len(self.name) > LONGEST_NAME:
            shown = shortened(self.name, LONGEST_NAME)
            msg = f"model name={shown!r} must be one line of at most {LONGEST_NAME} characters"
            raise OptionError(msg)
