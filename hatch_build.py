"""Make the wheel smaller: zopfli writes the same contents in shorter deflate streams."""

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SmallerWheel(BuildHookInterface):
    """Rewrite a standard wheel once it is built."""

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Rewrite the wheel in its place; without zopfli it stays as it is."""
        if version != "standard":
            return
        try:
            import zopfli.zlib  # noqa: F401
        except ImportError:
            self.app.display_warning("zopfli is not installed: the wheel is left as it is")
            return
        rewrite(Path(artifact_path))


class Stream:
    """What is written of a member: a deflate stream made beforehand."""

    def __init__(self, stream: bytes) -> None:
        self.stream = stream

    def compress(self, data: bytes) -> bytes:
        """Return nothing: the whole stream comes at the end."""
        return b""

    def flush(self) -> bytes:
        """Return the stream."""
        return self.stream


def rewrite(wheel: Path) -> None:
    """Write the wheel anew: the same members in the same order, in shorter streams."""
    with zipfile.ZipFile(wheel) as old:
        members = [(info, old.read(info)) for info in old.infolist()]
    made = io.BytesIO()
    # zopfli lets other threads run
    with ThreadPoolExecutor(2) as pool, zipfile.ZipFile(made, "w") as new:
        streams = pool.map(deflated, [data for _, data in members])
        for (info, data), stream in zip(members, streams, strict=True):
            with new.open(info, "w") as member:
                member._compressor = Stream(stream)
                member.write(data)
    wheel.write_bytes(made.getvalue())


def deflated(data: bytes) -> bytes:
    """Return the contents as a raw deflate stream."""
    from zopfli.zlib import compress

    # Two blocks at most: more are no smaller, and take three times as long.
    packed: bytes = compress(data, numiterations=5, blocksplittingmax=2)
    return packed[2:-4]  # without the header and the checksum of zlib
