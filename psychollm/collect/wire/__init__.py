"""API formats, which write requests to a server and parse its replies."""

from psychollm.collect.wire.anthropic import AnthropicMessages
from psychollm.collect.wire.bedrock import BedrockConverse
from psychollm.collect.wire.gemini import Gemini, Vertex
from psychollm.collect.wire.openai_chat import AzureOpenAI, OpenAIChat, OpenAICompletions
from psychollm.collect.wire.openai_responses import OpenAIResponses
from psychollm.collect.wire.protocol import Wire
from psychollm.collect.wire.transformers_local import TransformersLocal

_ALL: tuple[Wire, ...] = (
    OpenAIChat(),
    OpenAICompletions(),
    OpenAIResponses(),
    AzureOpenAI(),
    AnthropicMessages(),
    Gemini(),
    Vertex(),
    BedrockConverse(),
    TransformersLocal(),
)
WIRES: dict[str, Wire] = {wire.name: wire for wire in _ALL}
