"""What every job is configured with; each job adds its own in its package."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from metl.errors import BadInput

TRIGGERS = ("real-time", "micro-batch", "available-now")
SHORTEST, LONGEST = 1, 86_400
NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")


@dataclass(frozen=True, kw_only=True)
class JobSettings:
    #: What the job does with messages, in its own words to people.
    verb: ClassVar[str]

    #: The topics to read: a regular expression of whole names.
    topics: str
    job: str
    checkpoint: str
    brokers: str
    prefix: str = "cdm."
    kafka_options: dict[str, str] = field(default_factory=dict)
    trigger: str

    def __post_init__(self) -> None:
        require_names({"--job": self.job, "--prefix": self.prefix})

    @property
    def topics_option(self) -> tuple[str, str]:
        """The option that chooses topics, and its value."""
        return "--topics", self.topics

    @property
    def pattern(self) -> str:
        """The topics to read. Anchored: Spark also takes topics that contain a match."""
        return f"^(?:{self.topics})$"

    @property
    def subscription(self) -> str:
        """What to subscribe to: the topics to read, and whatever else the job listens to."""
        return self.pattern

    @property
    def reads_captured_topics(self) -> bool:
        """Whether connectors write the topics."""
        return True

    def is_candidate(self, topic: str) -> bool:
        """Whether somebody who mistyped a topic may have meant this one."""
        return not topic.startswith(self.prefix)

    @property
    def starting_offsets(self) -> str:
        """Where to begin without a checkpoint, as Spark takes it."""
        return "earliest"

    @property
    def reader_options(self) -> dict[str, str]:
        """Of Spark's Kafka source."""
        return {}

    @property
    def writer_options(self) -> dict[str, str]:
        """Of Spark's Kafka sink."""
        return {}

    @property
    def trigger_arguments(self) -> dict[str, Any]:
        """Of DataStreamWriter.trigger."""
        return {"availableNow": True} if self.trigger == "available-now" else {"processingTime": "0 seconds"}

    @property
    def about(self) -> dict[str, Any]:
        """What metl.jobs shows of the job."""
        return {"topics": self.topics, "trigger": self.trigger}

    @property
    def checkpoint_name(self) -> str:
        """The same name for the same folder, however it was given."""
        return str(self.local_checkpoint or self.checkpoint.rstrip("/"))

    @property
    def local_checkpoint(self) -> Path | None:
        """The folder, if it is on this machine; only Spark can read the storage of a cluster."""
        path = self.checkpoint.removeprefix("file://").removeprefix("file:")
        is_local = path != self.checkpoint or (":" not in path and not is_submitted())
        return Path(path).resolve() if is_local else None


def require_names(names: dict[str, str]) -> None:
    """By option. They go into names of topics, files and SQL without quotes."""
    for option, name in names.items():
        if not NAME.fullmatch(name) or not name.strip("."):
            raise BadInput(f"{option} {name!r}: use letters, digits, dots, dashes and underscores.")


def require_duration(duration: float) -> None:
    if not SHORTEST <= duration <= LONGEST:
        raise BadInput(f"--duration {duration}: take {SHORTEST} to {LONGEST} seconds.")


def read_pattern(option: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise BadInput(f"{option} {text!r} is not a regular expression: {error}.") from None


def is_submitted() -> bool:
    """Whether spark-submit runs this process."""
    return "PYSPARK_GATEWAY_PORT" in os.environ
