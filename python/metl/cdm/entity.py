"""An entity of the canonical data model."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Attribute:
    name: str
    type: str
    description: str | None = None
    optional: bool = False
    renamed_from: str | None = None

    def as_json(self) -> dict[str, object]:
        """As metl.add_entity_version wants it."""
        return {name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class Entity:
    name: str
    description: str | None
    attributes: tuple[Attribute, ...]
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
