"""Secrets of a plan: they are written as ``${NAME}`` and never stored.

Headers, addresses and parameters of a plan are stored and shown with the name of an environment
variable. The value of the variable is inserted when a request is sent, and removed from the
response.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from psychollm._base.errors import OptionError

SHORTEST = 16  # in characters; a shorter value may be a placeholder or a common word
MARK = b"[secret]"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAMES = re.compile(
    r"(?i)(^|[-_])(authorization|cookie|secret|password|passwd|credentials?|signature|sig"
    r"|api[-_]?key|((access|auth|bearer|refresh|session)[-_]?)token)$|^(key|token|auth)$"
)
_HEADER_NAMES = re.compile(r"(?i)[-_](key|token|auth)$")
# Prefixes of secrets in headers, and of the keys of many providers.
_VALUES = re.compile(
    r"(?i)\s*(bearer|basic)\s+\S"
    r"|\s*(sk-|pk-|hf_|gsk_|xai-|aiza|r8_|ghp_|pplx-|nvapi-|akia)\S{12}"
)


def variable(name: str, where: str) -> str:
    """Return the value of an environment variable."""
    value = os.environ.get(name, "").strip()
    if not value:
        msg = f"{where}the environment variable {name} is not set"
        raise OptionError(msg)
    if not (value.isascii() and value.isprintable()):
        msg = f"{where}the environment variable {name} holds more than one line of plain ASCII"
        raise OptionError(msg)
    return value


def printed(command: str, where: str) -> str:
    """Return the secret that a command prints, such as a token that lasts an hour."""
    try:
        run = subprocess.run(  # noqa: S603 -- the user's own plan specifies the command
            shlex.split(command), capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        msg = f"{where}key_command cannot be run ({type(error).__name__})"
        raise OptionError(msg) from None
    value = run.stdout.strip()
    if run.returncode or not value or not (value.isascii() and value.isprintable()):
        msg = (
            f"{where}key_command must print the secret, one line (it ended with {run.returncode})"
        )
        raise OptionError(msg)
    return value


def filled(value: Any, where: str) -> Any:
    """Return settings with each ``${NAME}`` replaced by the value of the variable."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: variable(match[1], where), value)
    if isinstance(value, Mapping):
        return {name: filled(one, where) for name, one in value.items()}
    return [filled(one, where) for one in value] if isinstance(value, list | tuple) else value


def filled_address(url: str, where: str) -> str:
    """Return an address with the URL-escaped values of its variables."""
    return _REFERENCE.sub(lambda match: quote(variable(match[1], where), safe=":"), url)


def is_secret(text: str) -> bool:
    """Return whether a text looks like a secret."""
    return _VALUES.match(text) is not None


def named_in(*settings: Any) -> set[str]:
    """Return the names of the environment variables to which settings refer."""
    return {name for text in _texts(settings) for name in _REFERENCE.findall(text)}


def check_headers(headers: Mapping[str, Any], where: str) -> None:
    """Raise `OptionError` if a header contains a secret."""
    for name, value in headers.items():
        secret = _HEADER_NAMES.search(name) is not None
        _check_value(name, value, f"{where}header {name}", secret=secret)


def check_address(url: str, where: str) -> None:
    """Raise `OptionError` if the query string of an address contains a secret."""
    for name, value in parse_qsl(urlsplit(url).query):
        secret = _HEADER_NAMES.search(name) is not None
        _check_value(name, value, f"{where}{name} in the query string of url", secret=secret)


def check_parameters(parameters: Any, where: str) -> None:
    """Raise `OptionError` if parameters contain a secret at any depth."""
    if isinstance(parameters, Mapping):
        for name, value in parameters.items():
            _check_value(str(name), value, f"{where}parameter {name}")
            check_parameters(value, where)
    elif isinstance(parameters, list | tuple):
        for value in parameters:
            check_parameters(value, where)


def _check_value(name: str, value: Any, what: str, *, secret: bool = False) -> None:
    if not isinstance(value, str) or not value or _REFERENCE.search(value):
        return
    if secret or _NAMES.search(name) or is_secret(value):
        # Omit the value, which may be the secret itself, from the message.
        msg = f'{what} must name an environment variable, not hold the secret: write "${{NAME}}"'
        raise OptionError(msg)


def _texts(settings: Any) -> Iterator[str]:
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping):
        for one in settings.values():
            yield from _texts(one)
    elif isinstance(settings, list | tuple):
        for one in settings:
            yield from _texts(one)


class Blotter:
    """A callable that removes secrets from stored data."""

    # Values shorter than `SHORTEST` are not removed, because they may occur in a reply by chance.

    def __init__(self, variables: Iterable[str]) -> None:
        self._held: set[str] = set()
        self.learn(os.environ.get(name, "").strip() for name in variables)

    def learn(self, secrets: Iterable[str]) -> None:
        """Add secrets that are to be removed."""
        self._held |= set(secrets)
        held = self._held
        known = sorted((one for one in held if len(one) >= SHORTEST), key=len, reverse=True)
        spelled = b"|".join(b"".join(map(_spellings, one)) for one in known)
        self._plain = [one.encode() for one in known]
        self._spelled = re.compile(spelled) if known else None

    def __call__(self, data: bytes) -> bytes:
        """Remove every secret from `data`, in any escaped form of JSON or an address."""
        # Data without a secret, which is the usual case, are returned as the same object.
        if self._spelled is None:
            return data
        for secret in self._plain:
            data = data.replace(secret, MARK)
        if b"\\" in data or b"%" in data or b"&" in data:
            data = self._spelled.sub(MARK, data)
        return data


def _spellings(letter: str) -> bytes:
    r"""Return a pattern for one character in plain or escaped form (\u002f, %2F, &#47; or \/)."""
    code = ord(letter)
    plain = re.escape(letter.encode())
    slashes = rb"" if letter.isalnum() else rb"\\*"
    hexed = b"".join(
        b"[%c%c]" % (digit.lower().encode(), digit.upper().encode()) if digit.isalpha()
        else digit.encode()
        for digit in f"{code:02x}"
    )  # fmt: skip
    return rb"(?:%s%s|\\+u00%s|%%%s|&#(?:0*%d|[xX]0*%s);)" % (
        slashes, plain, hexed, hexed, code, hexed,
    )  # fmt: skip
