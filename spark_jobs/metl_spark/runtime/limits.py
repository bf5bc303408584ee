"""Where a job begins and ends in each partition."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

#: By topic and partition.
Offsets = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Limits:
    """Null without a limit. The options are kept beside the offsets, to compare them at the next start."""

    from_option: str | None = None
    until_option: str | None = None
    first: Offsets | None = None
    end: Offsets | None = None

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Limits":
        return cls(**{field.name: stored.get(field.name) for field in fields(cls)})

    def first_of(self, topic: str, partition: str) -> int | None:
        return (self.first or {}).get(topic, {}).get(partition)

    def cut(self, topic: str, partition: str, offset: int) -> int:
        """At most the end; nothing is read of partitions that were added later."""
        return offset if self.end is None else min(offset, self.end.get(topic, {}).get(partition, 0))
