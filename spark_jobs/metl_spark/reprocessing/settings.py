"""What reprocessing is configured with."""

from dataclasses import dataclass, field

from metl_spark.mapping.settings import RecordSettings


@dataclass(frozen=True, kw_only=True)
class ReprocessSettings(RecordSettings):
    """It reads ranges of offsets, and `topics` only says which topics they are in."""

    trigger: str = field(default="available-now", init=False)
