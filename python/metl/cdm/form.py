"""The form of an entity in a file, as pydantic checks it for METL and JSON Schema describes it to editors."""

from dataclasses import dataclass
from typing import Annotated, Any

import psycopg
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from metl.cdm.entity import Attribute
from metl.cdm.schema import VALUES
from metl.util.nearest import nearest

LONGEST_NAME = 500


@dataclass(frozen=True)
class Types:
    """The generalized types, and those of other systems that they accept."""

    generalized: frozenset[str]
    accepted: dict[str, str]

    @classmethod
    def of(cls, connection: psycopg.Connection) -> "Types":
        generalized = connection.execute("select type from metl.type").fetchall()
        accepted = connection.execute("select source_type, type from metl.accepted_type").fetchall()
        return cls(frozenset(row[0] for row in generalized), dict(accepted))

    def suggest(self, word: str) -> str:
        if (meant := self.accepted.get(word.strip().lower())) is not None:
            return f" Did you mean {meant!r}?"
        return nearest(word, self.generalized)


def _not_blank(name: str) -> str:
    if not name.strip():
        raise PydanticCustomError("blank", "is empty")
    return name


def _known_type(name: str, info: ValidationInfo[Types]) -> str:
    assert info.context is not None, "a type is known to a database"
    if name not in info.context.generalized:
        raise PydanticCustomError("unknown_type", "is no type")
    return name


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_not_blank)]
Type = Annotated[str, Field(json_schema_extra={"enum": sorted(VALUES)}), AfterValidator(_known_type)]


class AttributeEntry(BaseModel):
    """An attribute of an entity."""

    model_config = ConfigDict(extra="forbid", strict=True, title="Attribute")

    name: Name = Field(description="Its name, unique in the entity.")
    type: Type = Field(description="Its generalized type.")
    description: str | None = Field(None, description="What it means.")
    optional: bool | None = Field(None, description="Whether it may be missing; false if not given.")
    renamed_from: str | None = Field(None, description="The name that it had in the version before.")

    def attribute(self) -> Attribute:
        return Attribute(
            self.name, self.type, text_or_none(self.description), bool(self.optional), text_or_none(self.renamed_from)
        )


class EntityEntry(BaseModel):
    """An entity of the canonical data model."""

    model_config = ConfigDict(extra="forbid", strict=True, title="Entity")

    entity: Name = Field(description="Its name.")
    description: str | None = Field(None, description="What it is.")
    attributes: list[AttributeEntry] = Field(description="Its attributes, in order.")


def text_or_none(value: str | None) -> str | None:
    return value if value and value.strip() else None


def editor_schema() -> dict[str, Any]:
    """The JSON Schema of a document, for editors that complete and check YAML while it is written."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **EntityEntry.model_json_schema()}
