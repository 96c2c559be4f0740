"""Requests, each with one prompt for one model and a permanent key.

The key of a request is the SHA-256 hash of its canonical form. The canonical form consists of its
version, the name and id of the model, the key of the prompt with its repeat and sample, the
messages, and the parameters. If the request continues the conversation of an earlier request, the
canonical form also contains the key of the earlier request. The canonical form excludes earlier
replies, so that every request has a key before any request is sent. The canonical form also
excludes server addresses, because these may change.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from psychollm.instruments.prompt import Prompt

KEY_VERSION = 1
# The two standard names of the parameter that limits the length of a reply.
LENGTHS = ("max_tokens", "max_completion_tokens")
# All names of this parameter that a plan may use, because servers differ.
LIMITS = (*LENGTHS, "max_new_tokens", "max_output_tokens", "n_predict")


def canonical_text(value: Any) -> str:
    """Return JSON that is identical for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One prompt for one model, before it is sent."""

    key: str
    model: str  # name of the model in the plan
    prompt: Prompt
    sample: int
    follows: str | None  # key of the request whose conversation it continues
    canonical: str

    @classmethod
    def build(
        cls,
        prompt: Prompt,
        *,
        model: str,
        model_id: str,
        parameters: Mapping[str, Any],
        system: str | None = None,
        sample: int = 0,
        follows: str | None = None,
    ) -> "Request":
        """Return the request that sends `prompt` to a model.

        Parameters
        ----------
        prompt : Prompt
            Prompt to send.
        model, model_id : str
            Name of the model in the plan, and its name on the server.
        parameters : mapping
            Parameters of the API format. If the parameters contain no length limit, the prompt's
            ``max_tokens`` applies. If the parameters contain a seed, `sample` is added to the
            seed, so that samples differ.
        system : str, optional
            System prompt of the model, which precedes the system prompt of `prompt`. The system
            prompt is not repeated when a conversation continues.
        sample : int
            Index of the sample.
        follows : str, optional
            Key of the earlier request whose conversation this request continues.
        """
        messages = [{"role": turn.role, "content": turn.content} for turn in prompt.messages]
        form = {
            "version": KEY_VERSION,
            "model": model,
            "model_id": model_id,
            "prompt": prompt.key,
            "repeat": prompt.repeat,
            "sample": sample,
            "messages": messages if follows else with_system(messages, system),
            "follows": follows,
            "parameters": _parameters(parameters, prompt.max_tokens, sample),
        }
        text = canonical_text(form)
        return cls(
            key=sha256(text.encode()).hexdigest(),
            model=model,
            prompt=prompt,
            sample=sample,
            follows=follows,
            canonical=text,
        )


def _parameters(given: Mapping[str, Any], max_tokens: int | None, sample: int) -> dict[str, Any]:
    parameters = dict(given)
    if max_tokens is not None and not any(name in given for name in LIMITS):
        parameters["max_tokens"] = max_tokens
    if isinstance(parameters.get("seed"), int):
        parameters["seed"] += sample
    return parameters


def with_system(messages: list[dict[str, str]], system: str | None) -> list[dict[str, str]]:
    """Put a system prompt first, and merge it with an existing system prompt."""
    if not system:
        return messages
    if messages[0]["role"] != "system":
        return [{"role": "system", "content": system}, *messages]
    both = f"{system}\n\n{messages[0]['content']}"
    return [{"role": "system", "content": both}, *messages[1:]]
