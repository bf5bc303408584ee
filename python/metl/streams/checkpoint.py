"""How far a job is: the offsets in a checkpoint of Spark's, read and written as Spark does it.

A checkpoint has a folder `offsets` and a folder `commits` with a file for each batch: where the batch ends, and that it
is done. The next batch begins where the last one that is done ends. To reset a job is to add a batch that did nothing
and ends elsewhere.
"""

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

from metl.errors import BadInput

#: By topic and partition.
Offsets = dict[str, dict[int, int]]
VERSION = "v1"
CHUNK = 512


class Checkpoint:
    def __init__(self, address: str) -> None:
        path = address.removeprefix("file://").removeprefix("file:")
        if path == address and ":" in path:
            raise BadInput(
                f"Checkpoint {address} is not in a folder of this machine; only such can be read and reset here. "
                "For another position, start the job with a new --checkpoint and --from, or metl load from offsets."
            )
        self.folder = Path(path)
        if not self.folder.is_dir():
            raise BadInput(
                f"There is no checkpoint {address} on this machine. Do it where the job runs; if it never ran, "
                "it begins where --from says."
            )

    def read(self) -> Offsets:
        """Where the next batch begins."""
        return {
            topic: {int(partition): offset for partition, offset in partitions.items()}
            for topic, partitions in json.loads(self._lines(self._committed())[2]).items()
        }

    def write(self, offsets: Offsets) -> int:
        """Lets the next batch begin there; returns the number of the batch that says so."""
        header, about, _ = self._lines(self._committed())
        batch = max(self._batches("offsets")) + 1
        text = json.dumps({topic: {str(p): o for p, o in found.items()} for topic, found in offsets.items()})
        # In this order: with the first file alone, Spark would only do its last batch again.
        done = (self.folder / "commits" / str(max(self._batches("commits")))).read_text(encoding="utf-8")
        _write(self.folder / "commits" / str(batch), done)
        _write(self.folder / "offsets" / str(batch), "\n".join([header, about, text]))
        return batch

    def _committed(self) -> int:
        done = self._batches("offsets") & self._batches("commits")
        if not done:
            raise BadInput(f"No batch was ever done with checkpoint {self.folder}; it begins where --from says.")
        return max(done)

    def _batches(self, kind: str) -> set[int]:
        folder = self.folder / kind
        return {int(file.name) for file in folder.iterdir() if file.name.isdigit()} if folder.is_dir() else set()

    def _lines(self, batch: int) -> list[str]:
        file = self.folder / "offsets" / str(batch)
        lines = file.read_text(encoding="utf-8").split("\n")
        if lines[0] != VERSION or len(lines) != 3 or not _is_of_kafka(lines[2]):
            raise BadInput(f"{file} is not as a mapper writes it: {VERSION}, settings, and the offsets of Kafka.")
        return lines


def _is_of_kafka(text: str) -> bool:
    try:
        found: Any = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, dict) and all(isinstance(partitions, dict) for partitions in found.values())


def _write(file: Path, text: str) -> None:
    """Beside its place and then moved there, with the checksums that Hadoop keeps of local files."""
    data = text.encode()
    sums = [zlib.crc32(data[begin : begin + CHUNK]) for begin in range(0, len(data), CHUNK)]
    checked = file.with_name(f".{file.name}.crc")
    for target, content in ((checked, b"crc\0" + struct.pack(f">i{len(sums)}I", CHUNK, *sums)), (file, data)):
        fresh = target.with_name(f".{target.name}.metl")
        with fresh.open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        fresh.rename(target)
