"""What jobs that map messages are configured with."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from metl.errors import BadInput
from metl_spark.runtime.settings import JobSettings, read_pattern, require_duration, require_names


@dataclass(frozen=True, kw_only=True)
class RecordSettings(JobSettings):
    """For every job that writes records of entities and dead letters."""

    verb: ClassVar[str] = "maps"

    dead_letters: str = "metl.dead"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_names({"--dead-letters": self.dead_letters})
        pattern = read_pattern("--topics", self.topics)
        for own in (self.dead_letters, f"{self.prefix}entity"):
            if pattern.fullmatch(own):
                raise BadInput(
                    f"--topics {self.topics!r} matches topics such as {own}, which this job writes: "
                    "it would read its own records for ever. Make it narrower."
                )

    @property
    def own_topics(self) -> tuple[str, ...]:
        """Those that no pattern of topics includes, beside the entities."""
        return (self.dead_letters,)

    @property
    def pattern(self) -> str:
        own = "|".join(f"{re.escape(topic)}$" for topic in self.own_topics)
        return f"^(?!{re.escape(self.prefix)}|{own})(?:{self.topics})$"


@dataclass(frozen=True, kw_only=True)
class MapSettings(RecordSettings):
    """For the live mapper."""

    trigger: str = "real-time"
    #: Seconds between two commits in real time.
    duration: float = 60.0
    starting: str = "earliest"
    unknown_version: str = "dead-letter"
    #: The topic of dead letters to map again.
    replays: str = "metl.replay"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_names({"--replays": self.replays})
        require_duration(self.duration)
        if self.replays == self.dead_letters or self.replays.startswith(self.prefix):
            raise BadInput(
                f"--replays {self.replays} is a topic that this job writes: what it cannot map would go round for ever."
                " Take another one."
            )

    @property
    def own_topics(self) -> tuple[str, ...]:
        return self.dead_letters, self.replays

    @property
    def subscription(self) -> str:
        """Also subscribe to the replay topic, which need not exist."""
        return f"{self.pattern}|^{re.escape(self.replays)}$"

    @property
    def starting_offsets(self) -> str:
        return self.starting

    @property
    def trigger_arguments(self) -> dict[str, Any]:
        if self.trigger == "real-time":
            return {"realTime": f"{round(self.duration * 1000)} milliseconds"}
        return super().trigger_arguments

    @property
    def about(self) -> dict[str, Any]:
        return {**super().about, "replays": self.replays}
