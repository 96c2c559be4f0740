"""Wire formats: how a request is written for a server, and how its reply is read."""

from psychollm.collect.wire.anthropic import AnthropicMessages
from psychollm.collect.wire.openai_chat import OpenAIChat, OpenAICompletions
from psychollm.collect.wire.protocol import Wire
from psychollm.collect.wire.transformers_local import TransformersLocal

_ALL: tuple[Wire, ...] = (
    OpenAIChat(),
    OpenAICompletions(),
    AnthropicMessages(),
    TransformersLocal(),
)
WIRES: dict[str, Wire] = {wire.name: wire for wire in _ALL}
