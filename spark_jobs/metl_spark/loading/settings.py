"""What a load is configured with."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from metl_spark.mapping.settings import RecordSettings
from metl_spark.runtime.limits import Limits

# Few and large requests. Records may wait for them: a backlog has no latency to lose.
WRITER_OPTIONS = {
    "kafka.linger.ms": "100",
    "kafka.batch.size": str(512 * 1024),
    "kafka.buffer.memory": str(128 * 1024 * 1024),
}
BATCH = 500_000


@dataclass(frozen=True, kw_only=True)
class LoadSettings(RecordSettings):
    trigger: str = field(default="available-now", init=False)
    unknown_version: str = "dead-letter"
    #: Messages between two commits.
    batch: int = BATCH
    #: At least so many tasks, more than partitions.
    tasks: int | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def starting_offsets(self) -> str:
        """Spark takes offsets of every partition or of none."""
        return super().starting_offsets if self.limits.first is None else json.dumps(self.limits.first)

    @property
    def reader_options(self) -> dict[str, str]:
        tasks = {"minPartitions": str(self.tasks)} if self.tasks else {}
        return {"maxOffsetsPerTrigger": str(self.batch), **tasks}

    @property
    def writer_options(self) -> dict[str, str]:
        return WRITER_OPTIONS

    @property
    def about(self) -> dict[str, Any]:
        """With the limits: the next start has to continue with the same."""
        return {**super().about, "limits": asdict(self.limits)}
