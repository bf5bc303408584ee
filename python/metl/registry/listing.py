"""What a registry has, as it says itself."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Protocol

from metl.util.http import RestError

Key = tuple[str, str, str]


class Garbled(RestError):
    """An answer that is well-formed but is not what a registry says."""


@dataclass(frozen=True)
class Version:
    """One version of an artifact; the names are those that metl.note_registry_versions expects."""

    group: str
    artifact: str
    version: str
    type: str | None
    position: int
    global_id: int | None = None
    content_id: int | None = None
    confluent_id: int | None = None
    state: str | None = None
    created_on: datetime | None = None
    modified_on: datetime | None = None

    @property
    def key(self) -> Key:
        return self.group, self.artifact, self.version

    @property
    def identity(self) -> tuple[object, ...]:
        """What another version of the same name would not have."""
        return self.global_id, self.confluent_id, self.created_on

    def as_json(self) -> dict[str, Any]:
        return {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class Reading:
    """Everything that a registry has, or what it says has changed lately."""

    versions: list[Version]
    #: How many versions it has in all.
    count: int
    #: From when on to read the next time; None: from the beginning.
    until: datetime | None
    #: Whether nothing came in between; only then something that is missing may be gone.
    is_whole: bool
    #: How often it was asked.
    requests: int = 1


@dataclass(frozen=True)
class Content:
    type: str
    text: str
    #: By what messages may name the version.
    refs: dict[str, Any] = field(default_factory=dict)
    references: Mapping[str, Any] = field(default_factory=dict)


class Registry(Protocol):
    """What a registry has to be able to say."""

    def everything(self, group: str | None) -> Reading: ...

    def changes(self, group: str | None, since: datetime) -> Reading:
        """At least what has changed since then."""
        ...

    def content(self, version: Version) -> Content: ...

    def references(self, content: Content) -> dict[str, str]:
        """The texts of what it refers to."""
        ...

    def is_gone(self, version: Version) -> bool:
        """Whether the registry says itself that it does not have it any more."""
        ...

    def abort(self) -> None: ...

    def close(self) -> None: ...
