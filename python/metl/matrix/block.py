"""One block of the matrix, and edits of it as typed on the command line: entity_attribute=attribute."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

import psycopg

from metl.errors import BadInput
from metl.matrix import trees
from metl.util.nearest import nearest

BLOCK = "select entity_attribute, attribute, value from metl.matrix_block(%s, %s, %s, %s)"


@dataclass(frozen=True)
class Block:
    schema: str
    version: int
    entity: str
    entity_version: int
    attributes: tuple[str, ...]
    entity_attributes: tuple[str, ...]
    #: The attribute that each mapped entity attribute comes from.
    mapping: dict[str, str]

    @property
    def key(self) -> tuple[str, int, str, int]:
        return (self.schema, self.version, self.entity, self.entity_version)

    def with_only(self, mapping: dict[str, str]) -> "Block":
        return replace(self, mapping=mapping)

    def with_also(self, mapping: dict[str, str]) -> "Block":
        """Adds cells. Raises if a name is mapped otherwise already: an addition never replaces a cell."""
        inverse = {of: to for to, of in self.mapping.items()}
        for to, of in mapping.items():
            for mapped_to, mapped_of in ((to, self.mapping.get(to, of)), (inverse.get(of, to), of)):
                if (mapped_to, mapped_of) != (to, of):
                    raise BadInput(
                        f"{mapped_of!r} maps to {mapped_to!r} already, and a block is 1:1 both ways. "
                        f"Take it away first, with metl matrix block remove … {shlex.quote(mapped_to)}"
                    )
        return replace(self, mapping=self.mapping | mapping)

    def without(self, entity_attributes: Iterable[str]) -> "Block":
        removed = set(entity_attributes)
        for name in removed:
            self._require(name)
            if name not in self.mapping:
                raise BadInput(f"Nothing maps to {name!r} of entity {self.entity!r} here.{self._mapping_sentence()}")
        return replace(self, mapping={to: of for to, of in self.mapping.items() if to not in removed})

    def parse_pairs(self, pairs: Iterable[str]) -> dict[str, str]:
        mapping: dict[str, str] = {}
        for pair in pairs:
            to, of = self._split(pair)
            self._require(to)
            if of not in self.attributes:
                where = f"version {self.version} of schema {self.schema!r}"
                raise BadInput(f"There is no attribute {of!r} in {where}.{nearest(of, self.attributes)}")
            if mapping.setdefault(to, of) != of:
                raise BadInput(
                    f"{to!r} is given twice, from {mapping[to]!r} and from {of!r}. A block is 1:1 both ways."
                )
        return mapping

    def _split(self, pair: str) -> tuple[str, str]:
        """Split at "="; names may contain "=", so prefer the split that gives two existing names."""
        splits = [(pair[:index], pair[index + 1 :]) for index, character in enumerate(pair) if character == "="]
        if not splits:
            raise BadInput(f"{pair!r} is not a pair. Give entity_attribute=attribute, such as email=mail.")
        existing = (split for split in splits if split[0] in self.entity_attributes and split[1] in self.attributes)
        return next(existing, splits[0])

    def _require(self, entity_attribute: str) -> None:
        if entity_attribute not in self.entity_attributes:
            hint = nearest(entity_attribute, self.entity_attributes)
            raise BadInput(f"There is no attribute {entity_attribute!r} in entity {self.entity!r}.{hint}")

    def _mapping_sentence(self) -> str:
        return f" Mapped are {', '.join(map(repr, self.mapping))}." if self.mapping else " The block maps nothing."


def read(connection: psycopg.Connection, schema: str, version: int, entity: str, entity_version: int | None) -> Block:
    """`version` may be trees.NEWEST."""
    key = (
        schema,
        trees.schema_version(connection, schema, version),
        entity,
        trees.entity_version(connection, entity, entity_version),
    )
    cells = connection.execute(BLOCK, key).fetchall()
    return Block(
        *key,
        attributes=tuple(dict.fromkeys(of for _, of, _ in cells)),
        entity_attributes=tuple(dict.fromkeys(to for to, _, _ in cells)),
        mapping={to: of for to, of, value in cells if value},
    )
