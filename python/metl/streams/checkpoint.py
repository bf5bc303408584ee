"""Offsets in a Spark checkpoint, read and written in Spark's own format.

A checkpoint has a folder `offsets` and a folder `commits` with a file for each batch: the offsets where the batch ends,
and that it is committed. The next batch begins where the last committed one ends. To reset a job is to add an empty
batch that is committed and ends at the new offsets.
"""

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

from metl.errors import BadInput

#: Offset by topic and partition.
Offsets = dict[str, dict[int, int]]
VERSION = "v1"
CHUNK = 512


class Checkpoint:
    def __init__(self, location: str) -> None:
        path = location.removeprefix("file://").removeprefix("file:")
        if path == location and ":" in path:
            raise BadInput(
                f"Checkpoint {location} is not in a folder of this machine; only such can be read and reset here. "
                "For another position, start the job with a new --checkpoint and --from, or metl load from offsets."
            )
        self.folder = Path(path)
        if not self.folder.is_dir():
            raise BadInput(
                f"There is no checkpoint {location} on this machine. Do it where the job runs; if it never ran, "
                "it begins where --from says."
            )

    def read(self) -> Offsets:
        """The offsets where the next batch begins."""
        return {
            topic: {int(partition): offset for partition, offset in partitions.items()}
            for topic, partitions in json.loads(self._lines(self._committed())[2]).items()
        }

    def write(self, offsets: Offsets) -> int:
        """Makes the next batch begin at these offsets; returns the number of the batch added for it."""
        version, metadata, _ = self._lines(self._committed())
        batch = max(self._batches("offsets")) + 1
        text = json.dumps({topic: {str(p): o for p, o in partitions.items()} for topic, partitions in offsets.items()})
        # The commit first: if only that file gets written, Spark just repeats its last batch.
        commit = (self.folder / "commits" / str(max(self._batches("commits")))).read_text(encoding="utf-8")
        _write(self.folder / "commits" / str(batch), commit)
        _write(self.folder / "offsets" / str(batch), "\n".join([version, metadata, text]))
        return batch

    def _committed(self) -> int:
        committed = self._batches("offsets") & self._batches("commits")
        if not committed:
            raise BadInput(f"No batch was ever committed with checkpoint {self.folder}; it begins where --from says.")
        return max(committed)

    def _batches(self, kind: str) -> set[int]:
        folder = self.folder / kind
        return {int(file.name) for file in folder.iterdir() if file.name.isdigit()} if folder.is_dir() else set()

    def _lines(self, batch: int) -> list[str]:
        file = self.folder / "offsets" / str(batch)
        lines = file.read_text(encoding="utf-8").split("\n")
        if lines[0] != VERSION or len(lines) != 3 or not _are_kafka_offsets(lines[2]):
            raise BadInput(f"{file} is not as a mapper writes it: {VERSION}, settings, and Kafka offsets.")
        return lines


def _are_kafka_offsets(text: str) -> bool:
    try:
        offsets: Any = json.loads(text)
    except ValueError:
        return False
    return isinstance(offsets, dict) and all(isinstance(partitions, dict) for partitions in offsets.values())


def _write(file: Path, text: str) -> None:
    """Atomically, by a temporary file and a rename, with the CRC file that Hadoop keeps beside local files."""
    data = text.encode()
    sums = [zlib.crc32(data[begin : begin + CHUNK]) for begin in range(0, len(data), CHUNK)]
    crc_file = file.with_name(f".{file.name}.crc")
    for target, content in ((crc_file, b"crc\0" + struct.pack(f">i{len(sums)}I", CHUNK, *sums)), (file, data)):
        temporary = target.with_name(f".{target.name}.metl")
        with temporary.open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        temporary.rename(target)
