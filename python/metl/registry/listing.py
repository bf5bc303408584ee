"""What a registry lists: versions, their contents and references."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Protocol

from metl.util.http import RestError

Key = tuple[str, str, str]


class UnexpectedAnswer(RestError):
    """JSON, but not what a registry answers."""


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
        """Differs from that of another version of the same name."""
        return self.global_id, self.confluent_id, self.created_on

    def as_json(self) -> dict[str, Any]:
        return {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class Listing:
    """All versions of a registry, or those changed lately."""

    versions: list[Version]
    #: All versions of the registry.
    count: int
    #: List changes since then the next time; None: list everything.
    watermark: datetime | None
    #: Whether nothing changed while it was read: only then are missing versions deleted ones.
    is_complete: bool
    #: Requests it took.
    requests: int = 1


@dataclass(frozen=True)
class Content:
    type: str
    text: str
    #: The ids by which messages may name the version.
    refs: dict[str, Any] = field(default_factory=dict)
    references: Mapping[str, Any] = field(default_factory=dict)


class Registry(Protocol):
    """The API of a kind of registry."""

    def list_all(self, group: str | None) -> Listing: ...

    def list_changes(self, group: str | None, since: datetime) -> Listing:
        """At least the versions changed since then."""
        ...

    def content(self, version: Version) -> Content: ...

    def references(self, content: Content) -> dict[str, str]:
        """The texts of the schemas it refers to, by name."""
        ...

    def is_deleted(self, version: Version) -> bool:
        """Whether the registry itself denies having it."""
        ...

    def abort(self) -> None: ...

    def close(self) -> None: ...
