"""One question to one model, and the name that it has for ever.

The key of a request is the SHA-256 of its canonical form: the version of that form, the name and
id of the model, the key of the prompt with its repeat and sample, the messages, the parameters,
and, where it continues another conversation, the key of that request. The reply which will be
inserted then is not part of it: a request has its key before anything was asked.
Addresses of servers are not part of it either, for they change.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from psychollm.instruments.prompt import Prompt

KEY_VERSION = 1
# The two names of the limit on the length of a reply.
LENGTHS = ("max_tokens", "max_completion_tokens")
# All that a plan may call it: programs that serve models have names of their own.
LIMITS = (*LENGTHS, "max_new_tokens", "max_output_tokens", "n_predict")


def canonical_text(value: Any) -> str:
    """Return JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to one model, before it is asked."""

    key: str
    model: str  # its name in the plan
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
        """Return the request that asks `prompt` of a model.

        Parameters
        ----------
        prompt : Prompt
            What to ask.
        model, model_id : str
            Name of the model in the plan, and what its server calls it.
        parameters : mapping
            Parameters of the wire format; the prompt's ``max_tokens`` holds where they name no
            limit, and a seed is raised by `sample`, so that repetitions differ.
        system : str, optional
            System prompt of the model, before that of the prompt. A conversation that goes on
            already has it.
        sample : int
            Which repetition.
        follows : str, optional
            Key of the request whose conversation goes on.
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
    """Put a system prompt first, before the one that is there, in one message."""
    if not system:
        return messages
    if messages[0]["role"] != "system":
        return [{"role": "system", "content": system}, *messages]
    both = f"{system}\n\n{messages[0]['content']}"
    return [{"role": "system", "content": both}, *messages[1:]]
