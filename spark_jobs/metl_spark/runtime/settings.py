"""What a mapper is told to do."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from metl.errors import BadInput

TRIGGERS = ("real-time", "micro-batch", "available-now")
SHORTEST, LONGEST = 1, 86_400
NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")


@dataclass(frozen=True)
class Limits:
    """What a load reads of each partition, as somebody said it and as offsets; null where nothing was said."""

    said_from: str | None = None
    said_until: str | None = None
    first: dict[str, dict[str, int]] | None = None
    end: dict[str, dict[str, int]] | None = None

    def first_of(self, topic: str, partition: str) -> int | None:
        return (self.first or {}).get(topic, {}).get(partition)

    def cut(self, topic: str, partition: str, offset: int) -> int:
        """No further than the end; nothing is read of partitions that came later."""
        return offset if self.end is None else min(offset, self.end.get(topic, {}).get(partition, 0))


@dataclass(frozen=True)
class Settings:
    topics: str
    job: str
    checkpoint: str
    brokers: str
    trigger: str = "real-time"
    duration: float = 60.0
    starting: str = "earliest"
    unknown_version: str = "dead-letter"
    prefix: str = "cdm."
    dead_letters: str = "metl.dead"
    #: Null for a job that takes no letters that are sent again.
    replays: str | None = "metl.replay"
    kafka_options: dict[str, str] | None = None
    metrics_port: int | None = None
    #: What a load tells Spark's Kafka source and sink beside all that.
    reading: dict[str, str] | None = None
    writing: dict[str, str] | None = None
    limits: Limits | None = None
    #: Whether it reads what others write: records of entities.
    reads_entities: bool = False
    #: The pattern of topics as somebody gave it, and where.
    option: str = "--topics"
    given: str | None = None

    def __post_init__(self) -> None:
        names = {
            "--job": self.job,
            "--dead-letters": self.dead_letters,
            "--replays": self.replays or "none",
            "--prefix": self.prefix,
        }
        for option, name in names.items():
            if not NAME.fullmatch(name) or not name.strip("."):
                raise BadInput(f"{option} {name!r}: use letters, digits, dots, dashes and underscores.")
        if not SHORTEST <= self.duration <= LONGEST:
            raise BadInput(f"--duration {self.duration}: take {SHORTEST} to {LONGEST} seconds.")
        if self.replays and (self.replays == self.dead_letters or self.replays.startswith(self.prefix)):
            raise BadInput(
                f"--replays {self.replays} is a topic that this job writes: what it cannot map would go round for ever."
                " Take another one."
            )
        pattern = read_pattern(self.option, self.said)
        for own in () if self.reads_entities else (self.dead_letters, f"{self.prefix}entity"):
            if pattern.fullmatch(own):
                raise BadInput(
                    f"--topics {self.topics!r} matches topics such as {own}, which this job writes: "
                    "it would read its own records for ever. Make it narrower."
                )

    @property
    def said(self) -> str:
        return self.topics if self.given is None else self.given

    @property
    def checkpoint_name(self) -> str:
        """One name for one folder, however it was given."""
        return str(self.local_checkpoint or self.checkpoint.rstrip("/"))

    @property
    def local_checkpoint(self) -> Path | None:
        """The folder, if it is one of this machine; of a cluster's storage only Spark knows."""
        path = self.checkpoint.removeprefix("file://").removeprefix("file:")
        is_local = path != self.checkpoint or (":" not in path and not is_submitted())
        return Path(path).resolve() if is_local else None


def read_pattern(option: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise BadInput(f"{option} {text!r} is not a regular expression: {error}.") from None


def is_submitted() -> bool:
    """Whether spark-submit runs us."""
    return "PYSPARK_GATEWAY_PORT" in os.environ
