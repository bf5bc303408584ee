"""Entities in YAML files.

    entity: person
    description: Somebody we know
    attributes:
      - name: number
        type: integer
        description: Number under which the person is known
        optional: true
        renamed_from: id

A file may have several, separated by lines of ---.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import yaml

from metl.errors import BadInput
from metl.util.nearest import nearest
from metl.util.problems import Problem, Wrong

ENTITY = ("entity", "description", "attributes")
ATTRIBUTE = ("name", "type", "description", "optional", "renamed_from")
LONGEST = 500
DEEPEST = 100
TAG = "tag:yaml.org,2002:"
KINDS = {"bool": "a boolean", "int": "a number", "float": "a number", "timestamp": "a date", "null": "nothing"}
KINDS |= {"merge": "a merge", "value": "a default", "seq": "a list", "map": "a mapping", "set": "a set"}

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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


def read(path: Path, types: Types) -> list[Entity]:
    """The entities of a file, or of all files of a folder and those below."""
    reader = _Reader(types)
    entities = [entity for file in _files(path) for entity in reader.read(file)]
    first: dict[str, Entity] = {}
    for entity in entities:
        earlier = first.setdefault(entity.name, entity)
        if earlier is not entity:
            where = f"{earlier.file}:{earlier.line}"
            reader.complain(entity.file, entity.line, f"Entity {entity.name!r} is in {where} already.")
    if reader.problems:
        problems = sorted(reader.problems, key=lambda problem: (problem.file, problem.line or 0))
        raise Wrong(problems, "so that there is no plan")
    return entities


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise BadInput(
            f"There is no file or folder {path}. Write entities there, or begin with those of the database: "
            f"metl cdm export --output {path}"
        )
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix in (".yaml", ".yml") and each.is_file())
    if not found:
        raise BadInput(f"There is no .yaml or .yml file in {path}.")
    return found


class _Reader:
    """Goes through nodes instead of values, which know their lines and that `no` was not written as text."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.problems: list[Problem] = []
        self.file = ""

    def complain(self, file: str, line: int | None, said: str) -> None:
        self.problems.append(Problem(file, line, said))

    def wrong(self, node: yaml.Node, said: str) -> None:
        self.complain(self.file, node.start_mark.line + 1, said)

    def read(self, path: Path) -> Iterator[Entity]:
        self.file = str(path)
        before = len(self.problems)
        documents = 0
        for node in self._documents(path):
            if node.tag != f"{TAG}null":
                documents += 1
                if (entity := self._entity(node)) is not None:
                    yield entity
        if not documents and len(self.problems) == before:
            self.complain(self.file, None, "There is no entity in it.")

    def _documents(self, path: Path) -> Iterator[yaml.Node]:
        data = path.read_bytes()
        try:
            if _is_deep(data):
                self.complain(self.file, None, f"This is nested more than {DEEPEST} levels deep.")
                return
            loader = Loader(data)
            while loader.check_node():
                if (node := loader.get_node()) is not None:
                    yield node
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            said = " ".join(filter(None, (error.context, error.problem)))
            # The end of the last line is the beginning of one that is not there.
            line = None if mark is None else min(mark.line, max(len(data.splitlines()) - 1, 0)) + 1
            self.complain(self.file, line, f"This is not YAML: {said}.")
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            self.complain(self.file, None, f"This is not YAML: {' '.join(str(error).split())}.")

    def _entity(self, node: yaml.Node) -> Entity | None:
        members = self._members(node, "an entity", ENTITY)
        if members is None:
            return None
        name = self._name(node, members, "entity", "an entity")
        description = self._text(members.get("description"), "description")
        attributes = self._attributes(node, members.get("attributes"))
        if name is None or attributes is None:
            return None
        return Entity(name, description, attributes, self.file, node.start_mark.line + 1)

    def _attributes(self, entity: yaml.Node, node: yaml.Node | None) -> tuple[Attribute, ...] | None:
        if node is None:
            self.wrong(entity, "An entity needs attributes: a list, each with name and type.")
            return None
        if not isinstance(node, yaml.SequenceNode):
            self.wrong(node, f"attributes is {_kind(node)}, not a list.")
            return None
        found: dict[str, Attribute] = {}
        lines: dict[tuple[str, str], int] = {}
        for each in node.value:
            attribute = self._attribute(each)
            if attribute is None:
                continue
            for key, value in (("name", attribute.name), ("renamed_from", attribute.renamed_from)):
                if value is not None and (key, value) in lines:
                    self.wrong(each, f"{key} {value!r} is there already, in line {lines[key, value]}.")
                elif value is not None:
                    lines[key, value] = each.start_mark.line + 1
            found[attribute.name] = attribute
        return tuple(found.values())

    def _attribute(self, node: yaml.Node) -> Attribute | None:
        members = self._members(node, "an attribute", ATTRIBUTE)
        if members is None:
            return None
        name = self._name(node, members, "name", "an attribute")
        kind = self._type(node, members.get("type"))
        description = self._text(members.get("description"), "description")
        renamed_from = self._text(members.get("renamed_from"), "renamed_from")
        optional = self._truth(members.get("optional"))
        if name is None or kind is None:
            return None
        return Attribute(name, kind, description, optional, renamed_from)

    def _members(self, node: yaml.Node, what: str, known: tuple[str, ...]) -> dict[str, yaml.Node] | None:
        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, f"Here should be {what}, with {', '.join(known)}, but this is {_kind(node)}.")
            return None
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None or name not in known:
                shown = _kind(key) if name is None else repr(name)
                self.wrong(key, f"{shown} is no key of {what}.{nearest(name or '', known)}")
            elif name in found:
                self.wrong(key, f"{name} is there twice.")
            else:
                found[name] = value
        return found

    def _name(self, node: yaml.Node, members: dict[str, yaml.Node], key: str, what: str) -> str | None:
        if key not in members:
            self.wrong(node, f"{what.capitalize()} needs {key}.")
            return None
        if members[key].tag == f"{TAG}null" or not isinstance(members[key], yaml.ScalarNode):
            self.wrong(members[key], f"{key} is {_kind(members[key])}, not a name.")
            return None
        name = self._text(members[key], key)
        if name is not None and len(name) > LONGEST:
            self.wrong(members[key], f"{key} {name[:60]!r}… has {len(name)} characters. At most are {LONGEST}.")
            return None
        if name is None and members[key].tag == f"{TAG}str":
            self.wrong(members[key], f"{key} is empty.")
        return name

    def _text(self, node: yaml.Node | None, key: str) -> str | None:
        if node is None or node.tag == f"{TAG}null":
            return None
        if isinstance(node, yaml.ScalarNode) and node.tag == f"{TAG}str":
            return node.value if node.value.strip() else None
        if isinstance(node, yaml.ScalarNode):
            quoted = "'" + node.value.replace("'", "''") + "'"
            self.wrong(node, f"{key} {node.value} is {_kind(node)} to YAML. Put it into quotes: {key}: {quoted}")
        else:
            self.wrong(node, f"{key} is {_kind(node)}, not text.")
        return None

    def _truth(self, node: yaml.Node | None) -> bool:
        if node is None or node.tag == f"{TAG}null":
            return False
        if node.tag != f"{TAG}bool" or not isinstance(node, yaml.ScalarNode):
            self.wrong(node, f"optional is {_kind(node)}, not true or false.")
            return False
        return str(node.value).lower() in ("true", "yes", "on")

    def _type(self, attribute: yaml.Node, node: yaml.Node | None) -> str | None:
        name = self._text(node, "type")
        if node is None or node.tag == f"{TAG}null":
            self.wrong(attribute, f"An attribute needs a type: {', '.join(sorted(self.types.generalized))}.")
        elif name is not None and name not in self.types.generalized:
            self.wrong(node, f"There is no type {name!r}.{self.types.suggest(name)}")
            return None
        return name


def _is_deep(data: bytes) -> bool:
    """Composing goes as deep as the text does, and libyaml would take the whole process down with it."""
    depth = 0
    for event in yaml.parse(data, Loader=Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            return True
    return False


def _kind(node: yaml.Node) -> str:
    if node.tag == f"{TAG}str":
        return f"text ({node.value[:60]!r})"
    return KINDS.get(node.tag.removeprefix(TAG), f"tagged {node.tag}")
