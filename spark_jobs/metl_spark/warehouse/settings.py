"""What the warehouse is configured with."""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from metl_spark.runtime.settings import JobSettings, read_pattern, require_duration


@dataclass(frozen=True, kw_only=True)
class WarehouseSettings(JobSettings):
    verb: ClassVar[str] = "merges"

    #: The topics follow from prefix and entities.
    topics: str = field(default="", init=False)
    #: A regular expression of whole names.
    entities: str = ".*"
    trigger: str = "micro-batch"
    #: Seconds from the start of a batch to the next.
    duration: float = 5.0
    #: Records in a batch at most.
    batch: int = 250_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "topics", f"{re.escape(self.prefix)}(?:{self.entities})")
        super().__post_init__()
        require_duration(self.duration)
        read_pattern("--entities", self.entities)

    @property
    def topics_option(self) -> tuple[str, str]:
        return "--entities", self.entities

    @property
    def reads_captured_topics(self) -> bool:
        return False

    def is_candidate(self, topic: str) -> bool:
        return topic.startswith(self.prefix)

    @property
    def reader_options(self) -> dict[str, str]:
        return {"maxOffsetsPerTrigger": str(self.batch)}

    @property
    def trigger_arguments(self) -> dict[str, Any]:
        if self.trigger == "micro-batch":
            return {"processingTime": f"{self.duration} seconds"}
        return super().trigger_arguments
