"""An endpoint on this machine of known truth: ``python endpoint.py KIT SIZE``; says its port.

It speaks chat completions. What is asked is looked up among the prompts of the kit, by the first
and the last turn of the user; what is said comes from the kit's `answer`, drawn from a stream that
belongs to the model, the prompt, and how often it was asked.
"""

import argparse
import asyncio
import json
import sys
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from kits import load, model_names, prompts_of  # beside this file


class Endpoint:
    """Knows the prompts of a kit, and what its models would say."""

    def __init__(self, kit, prompts, models):
        self.kit, self.models = kit, models
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
        seed = zlib.crc32(f"{body['model']}/{prompt.key}/{place}".encode())
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
                message = {"role": "assistant", "content": self.reply(body)}
                text = json.dumps(
                    {
                        "id": "simulated",
                        "object": "chat.completion",
                        "model": body["model"],
                        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                    }
                ).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(text) + text
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def main(name, size):
    """Serve a kit until ended."""
    kit, settings = load(name, size)
    served = Endpoint(kit, prompts_of(kit, settings), model_names(name))
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kit")
    parser.add_argument("size", help="a table of the kit's settings.toml")
    typed = parser.parse_args()
    asyncio.run(main(typed.kit, typed.size))
