"""Entities in YAML files.

    entity: person
    description: Somebody we know
    attributes:
      - name: number
        type: integer
        description: Number under which the person is known
        optional: true
        renamed_from: id

A file may have several, separated by lines of ---. metl.cdm.form says what a document must be like; YAML's nodes say
where it is not.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from metl.cdm.entity import Entity
from metl.cdm.form import LONGEST_NAME, AttributeEntry, EntityEntry, Types, text_or_none
from metl.errors import BadInput
from metl.util.nearest import nearest
from metl.util.problems import InvalidFiles, Problem

DEEPEST = 100
TAG = "tag:yaml.org,2002:"
KINDS = {"bool": "a boolean", "int": "a number", "float": "a number", "timestamp": "a date", "null": "nothing"}
KINDS |= {"merge": "a merge", "value": "a default", "seq": "a list", "map": "a mapping", "set": "a set"}

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: The keys and indexes that lead to a node.
Location = tuple[int | str, ...]


def read(path: Path, types: Types) -> list[Entity]:
    """The entities of a file, or of all files of a folder and those below."""
    problems: list[Problem] = []
    entities: list[Entity] = []
    first: dict[str, _Document] = {}
    for file in _files(path):
        for document in _documents(file, problems):
            entity = document.entity(types)
            entities += [entity] if entity else []
            if document.name is not None:
                earlier = first.setdefault(document.name, document)
                if earlier is not document:
                    where = f"{earlier.file}:{earlier.line}"
                    document.complain(document.root, f"Entity {document.name!r} is in {where} already.")
            problems += document.problems
    if problems:
        raise InvalidFiles(sorted(problems, key=lambda each: (each.file, each.line or 0)), "so that there is no plan")
    return entities


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise BadInput(
            f"There is no file or folder {path}. Write entities there, or begin with those of the database: "
            f"metl entities export --output {path}"
        )
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix in (".yaml", ".yml") and each.is_file())
    if not found:
        raise BadInput(f"There is no .yaml or .yml file in {path}.")
    return found


def _documents(path: Path, problems: list[Problem]) -> "Iterator[_Document]":
    """Those that are not empty."""
    before, count = len(problems), 0
    for node in _nodes(path, problems):
        if node.tag != f"{TAG}null":
            count += 1
            yield _Document(str(path), node)
    if not count and len(problems) == before:
        problems.append(Problem(str(path), None, "There is no entity in it."))


def _nodes(path: Path, problems: list[Problem]) -> Iterator[yaml.Node]:
    data = path.read_bytes()
    try:
        if _is_deep(data):
            problems.append(Problem(str(path), None, f"This is nested more than {DEEPEST} levels deep."))
            return
        loader = Loader(data)
        while loader.check_node():
            if (node := loader.get_node()) is not None:
                yield node
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(filter(None, (error.context, error.problem)))
        # The end of the last line is the beginning of one that is not there.
        line = None if mark is None else min(mark.line, max(len(data.splitlines()) - 1, 0)) + 1
        problems.append(Problem(str(path), line, f"This is not YAML: {reason}."))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problems.append(Problem(str(path), None, f"This is not YAML: {' '.join(str(error).split())}."))


def _is_deep(data: bytes) -> bool:
    """Composing goes as deep as the text does, and libyaml would take the whole process down with it."""
    depth = 0
    for event in yaml.parse(data, Loader=Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            return True
    return False


class _Other:
    """A value that is neither text nor a boolean nor nothing, such as a number: nothing in a document may be one."""


class _Document:
    """One entity as it stands in a file. Nodes, not values, know their lines and that `no` was not written as text."""

    #: Of attributes, an attribute, a member of it: nothing below is of interest.
    DEPTH = 3

    def __init__(self, file: str, root: yaml.Node) -> None:
        self.file = file
        self.root = root
        self.line = root.start_mark.line + 1
        self.problems: list[Problem] = []
        self._values: dict[Location, yaml.Node] = {}
        self._keys: dict[Location, yaml.Node] = {}
        self._data = self._plain(root, ())
        name = self._data.get("entity") if isinstance(self._data, dict) else None
        #: What other documents must not be called.
        self.name = text_or_none(name) if isinstance(name, str) else None

    def complain(self, node: yaml.Node, text: str) -> None:
        self.problems.append(Problem(self.file, node.start_mark.line + 1, text))

    def entity(self, types: Types) -> Entity | None:
        invalid: set[Location] = set()
        entry: EntityEntry | None = None
        try:
            entry = EntityEntry.model_validate(self._data, context=types)
        except ValidationError as errors:
            for error in errors.errors():
                invalid.add(error["loc"])
                self._explain(error, types)
        self._find_duplicates(invalid)
        if entry is None or self.problems:
            return None
        attributes = tuple(each.attribute() for each in entry.attributes)
        return Entity(entry.entity, text_or_none(entry.description), attributes, self.file, self.line)

    def _plain(self, node: yaml.Node, path: Location) -> Any:
        """Its value, with notes where each part of it is."""
        self._values[path] = node
        if isinstance(node, yaml.ScalarNode):
            match node.tag.removeprefix(TAG):
                case "str":
                    return node.value
                case "null":
                    return None
                case "bool":
                    return node.value.lower() in ("true", "yes", "on")
        if len(path) == self.DEPTH:
            return _Other()
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(each, (*path, number)) for number, each in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._members(node, path)
        return _Other()

    def _members(self, node: yaml.MappingNode, path: Location) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                # Pydantic would not see it. Lists of attributes that are mappings are refused as a whole.
                if len(path) != 1:
                    self._unknown_key(key, path)
            elif key.value in members and key.value in _form(path).model_fields:
                self.complain(key, f"{key.value} is there twice.")
            else:
                self._keys[*path, key.value] = key
                members[key.value] = self._plain(value, (*path, key.value))
        return members

    def _unknown_key(self, key: yaml.Node, path: Location) -> None:
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        shown = _kind(key) if name is None else repr(name)
        self.complain(key, f"{shown} is no key of {_what(path)}.{nearest(name or '', tuple(_form(path).model_fields))}")

    def _explain(self, error: ErrorDetails, types: Types) -> None:
        path, kind = error["loc"], error["type"]
        if kind == "extra_forbidden":
            self._unknown_key(self._keys[path], path[:-1])
            return
        if kind == "missing":
            self.complain(self._values[path[:-1]], _missing(path, types))
            return
        node = self._values[path]
        if kind == "model_type":
            keys = ", ".join(_form(path).model_fields)
            self.complain(node, f"Here should be {_what(path)}, with {keys}, but this is {_kind(node)}.")
            return
        key = str(path[-1])
        is_name = key in ("entity", "name")
        value = node.value
        if kind in ("string_too_short", "blank"):
            text = f"{key} is empty."
        elif kind == "string_too_long":
            text = f"{key} {value[:60]!r}… has {len(value)} characters. At most are {LONGEST_NAME}."
        elif kind == "unknown_type":
            text = f"There is no type {value!r}.{types.suggest(value)}"
        elif kind == "list_type":
            text = f"{key} is {_kind(node)}, not a list."
        elif kind == "bool_type":
            text = f"{key} is {_kind(node)}, not true or false."
        elif isinstance(node, yaml.ScalarNode) and node.tag == f"{TAG}null":
            text = f"{key} is nothing, not a name." if is_name else _missing(path, types)
        elif isinstance(node, yaml.ScalarNode):
            quoted = "'" + value.replace("'", "''") + "'"
            text = f"{key} {value} is {_kind(node)} to YAML. Put it into quotes: {key}: {quoted}"
        else:
            text = f"{key} is {_kind(node)}, not {'a name' if is_name else 'text'}."
        self.complain(node, text)

    def _find_duplicates(self, invalid: set[Location]) -> None:
        """Attributes of one name, or of one former name; those that are not valid are complained about already."""
        attributes = self._data.get("attributes") if isinstance(self._data, dict) else None
        lines: dict[tuple[str, str], int] = {}
        for number, each in enumerate(attributes if isinstance(attributes, list) else []):
            path: Location = ("attributes", number)
            if invalid & {path, (*path, "name"), (*path, "type")}:
                continue
            for key in ("name", "renamed_from"):
                value = text_or_none(each[key]) if isinstance(each.get(key), str) else None
                if value is not None and (key, value) in lines:
                    self.complain(self._values[path], f"{key} {value!r} is there already, in line {lines[key, value]}.")
                elif value is not None:
                    lines[key, value] = self._values[path].start_mark.line + 1


def _form(path: Location) -> type[BaseModel]:
    return AttributeEntry if path else EntityEntry


def _what(path: Location) -> str:
    return "an attribute" if path else "an entity"


def _missing(path: Location, types: Types) -> str:
    if path[-1] == "attributes":
        return "An entity needs attributes: a list, each with name and type."
    if path[-1] == "type":
        return f"An attribute needs a type: {', '.join(sorted(types.generalized))}."
    return f"{_what(path[:-1]).capitalize()} needs {path[-1]}."


def _kind(node: yaml.Node) -> str:
    if node.tag == f"{TAG}str":
        return f"text ({node.value[:60]!r})"
    return KINDS.get(node.tag.removeprefix(TAG), f"tagged {node.tag}")
