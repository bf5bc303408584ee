"""What the files would change in the database."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import psycopg

from metl.cdm.entity import Entity
from metl.errors import BadInput
from metl.util.problems import InvalidFiles, Problem

DRAFT = "select * from metl.draft_entity_version(%s, %s, %s)"
CELLS = """
select schema, version, attribute, entity_attribute, fate, reason
from metl.plan_entity_version(%s, %s, %s) order by schema collate "C", version, entity_attribute collate "C"
"""
CELLS_OF_END = """
select schema, version, attribute, entity_attribute, fate, reason
from metl.plan_entity_version_end(%s, %s) order by schema collate "C", version, entity_attribute collate "C"
"""
LIVE = 'select entity, version from metl.entity_versions where deleted is null order by entity collate "C"'
PLAN = """
select plan_id from metl.plans
where kind = 'entity_version' and name = %s and version = %s and decision = 'waiting'
"""
#: Kafka's names of topics.
TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
#: Names that would be paths as file names.
PATH = re.compile(r".*[/\\].*|\.+", re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """One cell of the live version: fate is kept or lost, reason says why."""

    schema: str
    version: int
    attribute: str
    entity_attribute: str
    fate: str
    reason: str | None


@dataclass(frozen=True)
class Step:
    """The change of one entity."""

    entity: str
    #: new, next, unchanged, waits (it did already), confirm (it will), frozen, blocked, left, delete
    outcome: str
    live_version: int | None = None
    version: int | None = None
    changes: tuple[dict[str, str], ...] = ()
    cells: tuple[Cell, ...] = ()
    #: The plan that has to be decided first.
    plan_id: int | None = None
    description: str | None = None
    draft: str = field(default="[]", repr=False)

    @property
    def lost(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.fate == "lost"]

    @property
    def changes_something(self) -> bool:
        return self.outcome not in ("unchanged", "left")

    @property
    def refusal(self) -> str | None:
        if self.outcome == "frozen":
            return (
                f"A mapping to entity {self.entity!r} is frozen, and a new version would end it. "
                "Set another policy first; metl plans policy list shows which."
            )
        if self.outcome == "blocked":
            return (
                f"Entity {self.entity!r} has another update that waits as plan {self.plan_id}. Decide it first, "
                f"with metl plans confirm {self.plan_id} or metl plans reject {self.plan_id}."
            )
        return None

    @property
    def warning(self) -> str | None:
        if self.version is None or TOPIC.fullmatch(f"cdm.{self.entity}"):
            return None
        return f"No topic can be named cdm.{self.entity}: its messages would become dead letters."

    def as_json(self) -> dict[str, Any]:
        step = asdict(self)
        del step["draft"]
        return {**step, "warning": self.warning}


@dataclass(frozen=True)
class Applied:
    entity: str
    version: int
    state: int
    #: If it waits instead.
    plan_id: int | None = None
    deleted: bool = False


def plan(connection: psycopg.Connection, entities: Sequence[Entity], delete: bool = False) -> list[Step]:
    """A step for each entity of the files, then for each that only the database has."""
    # First, since it begins the transaction whose snapshot the rest reads.
    live: dict[str, int] = dict(connection.execute(LIVE).fetchall())
    problems: list[Problem] = []
    steps = []
    for entity in entities:
        if PATH.fullmatch(entity.name):
            message = (
                f"Entity {entity.name!r} would be taken for a path: its name is that of a topic, a table and files. "
                "Take letters, digits, _ and -."
            )
            problems.append(Problem(entity.file, entity.line, message))
            continue
        try:
            with connection.transaction():
                steps.append(_step(connection, entity))
        except psycopg.Error as error:
            if not (error.diag.message_hint and error.diag.context):
                raise
            message = f"{error.diag.message_primary} {error.diag.message_hint}"
            problems.append(Problem(entity.file, entity.line, message))
    if problems:
        raise InvalidFiles(problems, "so that there is no plan")
    named = {entity.name for entity in entities}
    others = [(entity, version) for entity, version in live.items() if entity not in named]
    return [*steps, *(_other(connection, entity, version, delete) for entity, version in others)]


def _step(connection: psycopg.Connection, entity: Entity) -> Step:
    attributes = json.dumps([attribute.as_json() for attribute in entity.attributes])
    row = connection.execute(DRAFT, [entity.name, attributes, entity.description]).fetchone()
    assert row is not None
    live, version, settled, changes, policy, plan_id, is_planned = row
    if version is None:
        return Step(entity.name, "unchanged", live)
    draft = json.dumps(settled)
    return Step(
        entity=entity.name,
        outcome=_outcome(live, policy, plan_id, is_planned),
        live_version=live,
        version=version,
        changes=tuple(changes),
        cells=tuple(Cell(*cell) for cell in connection.execute(CELLS, [entity.name, version, draft])),
        plan_id=plan_id,
        description=entity.description,
        draft=draft,
    )


def _outcome(live: int | None, policy: str, plan_id: int | None, is_planned: bool) -> str:
    if plan_id is not None:
        return "waits" if is_planned else "blocked"
    if policy != "auto":
        return {"freeze": "frozen", "confirm": "confirm"}[policy]
    return "new" if live is None else "next"


def _other(connection: psycopg.Connection, entity: str, version: int, delete: bool) -> Step:
    if not delete:
        return Step(entity, "left", version)
    cells = connection.execute(CELLS_OF_END, [entity, version])
    return Step(entity, "delete", version, cells=tuple(Cell(*cell) for cell in cells))


def lost_without_confirmation(steps: Sequence[Step]) -> int:
    """Cells lost at once, not those of updates that wait for confirmation."""
    return sum(len(step.lost) for step in steps if step.outcome in ("next", "delete"))


def refuse(steps: Sequence[Step]) -> None:
    refusals = [step.refusal for step in steps if step.refusal]
    if refusals:
        raise BadInput(" ".join(["Nothing was changed.", *refusals]))


def apply(connection: psycopg.Connection, steps: Sequence[Step]) -> list[Applied]:
    """One state for each entity that changes, in the transaction of the connection."""
    return [_applied(connection, step) for step in steps if step.outcome in ("new", "next", "confirm", "delete")]


def _applied(connection: psycopg.Connection, step: Step) -> Applied:
    if step.outcome == "delete":
        assert step.live_version is not None
        state = _state(connection, "select metl.delete_entity_version(%s, %s)", step.entity, step.live_version)
        return Applied(step.entity, step.live_version, state, deleted=True)
    assert step.version is not None
    state = _state(
        connection,
        "select metl.add_entity_version(%s, %s, %s, %s)",
        *(step.entity, step.version, step.draft, step.description),
    )
    waiting = connection.execute(PLAN, [step.entity, step.version]).fetchone()
    return Applied(step.entity, step.version, state, None if waiting is None else waiting[0])


def _state(connection: psycopg.Connection, query: str, *arguments: object) -> int:
    row = connection.execute(query.encode(), arguments).fetchone()
    assert row is not None
    return int(row[0])
