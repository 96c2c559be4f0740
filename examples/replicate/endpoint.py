"""An endpoint on this machine of known truth: ``python endpoint.py KIT PLAN``; says its port.

It speaks chat completions. What is asked is looked up among the prompts of the plan, by the first
and the last turn of the user; what is said comes from the kit's `answer`, drawn from a stream that
belongs to the model, the prompt, how often it was asked, and the kit's `DRAW` if it names one.
"""

import argparse
import asyncio
import importlib.util
import json
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from psychollm.cli.run import staged_plan

HERE = Path(__file__).resolve().parent


def load(name):
    """Return the module of a kit."""
    spec = importlib.util.spec_from_file_location(f"kit_{name}", HERE / name / "kit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Endpoint:
    """Knows the prompts of a plan, and what its models would say."""

    def __init__(self, kit, plan):
        self.kit, self.models, prompts = kit, [one.model for one in plan.models], plan.prompts
        by_key = {one.key: one for one in prompts}
        self.known, self.asked = {}, Counter()
        for one in prompts:
            root = one
            while root.follows is not None:
                root = by_key[root.follows]
            self.known[root.messages[-1].content, one.messages[-1].content] = one

    def reply(self, body):
        """Return what a model says to a conversation."""
        turns = body["messages"]
        said = [turn["content"] for turn in turns if turn["role"] == "user"]
        first = said[0] if len(said) == 1 or (said[0], said[-1]) in self.known else said[-1]
        prompt = self.known.get((first, said[-1]))
        if prompt is None:  # a judge's prompt of a second stage: its words tell all
            return self.kit.judge(turns)
        place = self.asked[body["model"], prompt.key]
        self.asked[body["model"], prompt.key] += 1
        draw = getattr(self.kit, "DRAW", "")
        seed = zlib.crc32(f"{draw}{body['model']}/{prompt.key}/{place}".encode())
        rng = np.random.default_rng(seed)
        return self.kit.answer(prompt, self.models.index(body["model"]), turns, rng)

    async def serve(self, reader, writer):
        """Answer one connection until it ends."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.partition(b":")[2])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                body = json.loads(await reader.readexactly(length))
                said = self.reply(body)
                tokens = len(said.split())
                message = {"role": "assistant", "content": said}
                text = json.dumps(
                    {
                        "id": "simulated",
                        "object": "chat.completion",
                        "model": body["model"],
                        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 1, "completion_tokens": tokens},
                    }
                ).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(text) + text
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def main(name, plan):
    """Serve a kit until ended."""
    kit = load(name)
    served = Endpoint(kit, staged_plan(kit.STUDY, plan).plan)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kit")
    parser.add_argument("plan", type=Path)
    typed = parser.parse_args()
    asyncio.run(main(typed.kit, typed.plan))
