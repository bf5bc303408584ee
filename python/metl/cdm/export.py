"""Entities to YAML."""

import re
from collections.abc import Sequence
from pathlib import Path

import psycopg
import yaml

from metl.cdm.entity import Attribute, Entity
from metl.errors import BadInput

LIVE = """
select entity, description from metl.entity_versions where deleted is null order by entity collate "C"
"""
ATTRIBUTES = """
select entity, entity_attribute, type, nullif(description, ''), optional
from metl.entity_attributes where is_live order by position
"""
BREAKS = re.compile("[\x85\u2028\u2029]")


def live_entities(connection: psycopg.Connection) -> list[Entity]:
    attributes: dict[str, list[Attribute]] = {}
    for entity, *attribute in connection.execute(ATTRIBUTES):
        attributes.setdefault(entity, []).append(Attribute(*attribute))
    return [
        Entity(name, description or None, tuple(attributes.get(name, ())))
        for name, description in connection.execute(LIVE).fetchall()
    ]


def as_yaml(entities: Sequence[Entity]) -> str:
    documents = [
        {
            "entity": entity.name,
            **({"description": entity.description} if entity.description else {}),
            "attributes": [attribute.as_json() for attribute in entity.attributes],
        }
        for entity in entities
    ]
    return yaml.dump_all(
        documents, Dumper=_Dumper, explicit_start=len(documents) > 1, sort_keys=False, allow_unicode=True, width=110
    )


class _Dumper(yaml.SafeDumper):
    """Writes Unicode's line breaks in double quotes, where YAML keeps them."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if BREAKS.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent)


def write(entities: Sequence[Entity], folder: Path) -> list[Path]:
    """A file for each entity."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file. Name a folder.")
    if any(each.suffix in (".yaml", ".yml") for each in folder.rglob("*")):
        raise BadInput(f"{folder} has YAML files already. Name another folder, or clear this one.")
    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    written = []
    for entity in entities:
        path = folder / f"{_file_name(entity.name, taken)}.yaml"
        path.write_text(as_yaml([entity]), encoding="utf-8")
        written.append(path)
    return written


def _file_name(entity: str, taken: set[str]) -> str:
    """Readable, and unique also where file names ignore case."""
    plain = re.sub(r"[^\w-]", "_", entity)[:60]
    name, number = plain, 1
    while name.casefold() in taken:
        number += 1
        name = f"{plain}-{number}"
    taken.add(name.casefold())
    return name
