"""Algorithms 1 to 5 of the paper in plain Python: slow and small, a reading of design.md and no translation of sql/.

The matrix is kept whole, as every block between a live schema version and a live entity version, and each
update walks through all of it. Where design.md is open (which names came back, that an attribute is claimed
whatever its type), the words here say the same as sql/ on purpose: there, the two cannot find each other out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product

Key = tuple[str, int, str, int]  # schema, version, entity, entity version
Block = dict[str, str]  # entity attribute: attribute
Cell = tuple[str, str]  # attribute, entity attribute
One = tuple[str, int, str, int, str, str]  # a key and a cell: the columns of metl.decompaction
Chain = tuple[str, str, int]  # schema, entity, entity version
Dusb = dict[Chain, dict[int, Block]]
Notice = tuple[int, str, str, int, str, int, frozenset[Cell]]  # state, kind, key, cells

GENERALIZED = {"int32": "integer", "int64": "integer", "integer": "integer", "string": "string", "text": "string"}
STRICTNESS = ["auto", "confirm", "freeze"]


class Refused(Exception):
    """The call is an error; nothing has changed."""


@dataclass(frozen=True)
class Given:
    """An attribute as somebody asks for it."""

    name: str
    type: str
    renamed_from: str | None = None


@dataclass(frozen=True)
class Attribute:
    """An attribute of one version. Those with the same identity are equivalent."""

    name: str
    type: str
    renamed_from: str | None
    identity: int


Version = tuple[Attribute, ...]
Tree = dict[str, dict[int, Version]]


@dataclass(frozen=True)
class Match:
    """How a new version goes on from the versions beside it."""

    attributes: Version
    continued: dict[str, str]  # names below and what they are called now
    retyped: frozenset[str]  # names below that go on under another type
    unheard_of: frozenset[str]  # names that go on from nothing


@dataclass
class Change:
    """What an update makes of one block."""

    key: Key
    block: Block
    dropped: set[Cell] = field(default_factory=set)
    retyped: set[Cell] = field(default_factory=set)
    came_back: set[Cell] = field(default_factory=set)

    @property
    def lost(self) -> set[Cell]:
        return self.dropped | self.retyped


@dataclass(frozen=True)
class Plan:
    kind: str
    name: str
    version: int
    given: tuple[Given, ...]
    lost: frozenset[tuple[Key, Cell]]


def losses(changes: Iterable[Change]) -> frozenset[tuple[Key, Cell]]:
    return frozenset((change.key, cell) for change in changes for cell in change.lost)


def named(attributes: Iterable[Attribute]) -> dict[str, Attribute]:
    return {each.name: each for each in attributes}


def identified(attributes: Iterable[Attribute]) -> dict[int, Attribute]:
    return {each.identity: each for each in attributes}


class Matrix:
    def __init__(self) -> None:
        self.schemas: Tree = {}
        self.entities: Tree = {}
        self.blocks: dict[Key, Block] = {}
        self.policies: dict[tuple[str | None, str | None], str] = {}
        self.plans: dict[int, Plan] = {}
        self.notices: list[Notice] = []
        self.past: list[frozenset[One]] = [frozenset()]
        self._used: set[tuple[str, str, int]] = set()
        self._identities = count(1)
        self._plan_ids = count(1)

    # What is in it ------------------------------------------------------------------------------
    @property
    def state(self) -> int:
        return len(self.past) - 1

    def used(self, kind: str, name: str) -> set[int]:
        return {version for k, n, version in self._used if (k, n) == (kind, name)}

    def dpm(self) -> frozenset[One]:
        """Algorithm 2: every 1 of every block."""
        return frozenset((*key, a, c) for key, block in self.blocks.items() for c, a in block.items())

    def dusb(self) -> Dusb:
        """Algorithm 3: of each chain, by ascending version, the blocks that differ from the latest one kept."""
        kept: Dusb = {}
        for schema, entity, entity_version in self._chains():
            unique: dict[int, Block] = {}
            latest: set[tuple[str, int]] = set()
            for version in sorted(self.schemas[schema]):
                block = self.blocks[schema, version, entity, entity_version]
                meaning = self._meaning(schema, version, block)
                # Before anything is kept, latest is empty: a null block that comes first is passed over.
                if meaning != latest:
                    unique[version] = block
                    latest = meaning
            if unique:
                kept[schema, entity, entity_version] = unique
        return kept

    def decompact(self, dusb: Dusb) -> dict[Key, Block]:
        """Algorithm 4, with the last run up to and including the highest version."""
        whole: dict[Key, Block] = {
            (schema, version, entity, entity_version): {}
            for schema, entity, entity_version in self._chains()
            for version in self.schemas[schema]
        }
        for (schema, entity, entity_version), unique in dusb.items():
            for version in self.schemas[schema]:
                anchors = [stored for stored in unique if stored <= version]
                if anchors:
                    block = self._carry(schema, max(anchors), version, unique[max(anchors)])
                    whole[schema, version, entity, entity_version] = block
        return whole

    def _chains(self) -> Iterable[Chain]:
        for schema, (entity, versions) in product(self.schemas, self.entities.items()):
            for entity_version in versions:
                yield schema, entity, entity_version

    def _meaning(self, schema: str, version: int, block: Block) -> set[tuple[str, int]]:
        """A block with identities for names, by which blocks of two versions compare."""
        attributes = named(self.schemas[schema][version])
        return {(c, attributes[a].identity) for c, a in block.items()}

    def _carry(self, schema: str, version: int, to: int, block: Block) -> Block:
        """A block in the names of another version, as far as its attributes are there."""
        there = identified(self.schemas[schema][to])
        return {c: there[i].name for c, i in self._meaning(schema, version, block) if i in there}

    # Algorithm 5, the four cases ----------------------------------------------------------------
    def add_schema_version(self, schema: str, version: int, given: Sequence[Given], plan: Plan | None = None) -> int:
        self._require_new("schema", schema, version)
        self._refuse_to_overtake("schema_version", schema, version, plan)
        live = self.schemas.get(schema, {})
        below = max((each for each in live if each < version), default=None)
        above = min((each for each in live if each > version), default=None)
        match = self._match(given, live[below] if below else (), live[above] if above else ())
        changes = [
            self._column(schema, below, version, match, entity, entity_version)
            for entity, versions in self.entities.items()
            for entity_version in versions
        ]
        if plan and not losses(changes) <= plan.lost:
            raise Refused  # nobody was shown these
        if not plan and self._must_wait(changes):
            return self._wait(Plan("schema_version", schema, version, tuple(given), losses(changes)), changes)
        self.schemas.setdefault(schema, {})[version] = match.attributes
        self._used.add(("schema", schema, version))
        return self._perform(changes)

    def add_entity_version(self, entity: str, version: int, given: Sequence[Given], plan: Plan | None = None) -> int:
        self._require_new("entity", entity, version)
        self._refuse_to_overtake("entity_version", entity, version, plan)
        live = self.entities.get(entity, {})
        if any(each > version for each in live):
            raise Refused
        self._refuse_frozen_cells(entity)
        old, below = next(iter(live.items()), (0, ()))
        match = self._match(given, below, ())
        changes = [
            self._row(schema, schema_version, entity, old, version, match)
            for schema, versions in self.schemas.items()
            for schema_version in versions
        ]
        if plan and not losses(changes) <= plan.lost:
            raise Refused  # nobody was shown these
        if not plan and self._must_wait(changes):
            return self._wait(Plan("entity_version", entity, version, tuple(given), losses(changes)), changes)
        if old:
            self._drop_entity_version(entity, old)
        self.entities.setdefault(entity, {})[version] = match.attributes
        self._used.add(("entity", entity, version))
        return self._perform(changes)

    def delete_schema_version(self, schema: str, version: int) -> int:
        if version not in self.schemas.get(schema, {}):
            raise Refused
        del self.schemas[schema][version]
        self.blocks = {key: block for key, block in self.blocks.items() if key[:2] != (schema, version)}
        return self._perform([])

    def delete_entity_version(self, entity: str, version: int) -> int:
        if version not in self.entities.get(entity, {}):
            raise Refused
        self._refuse_frozen_cells(entity)
        self._drop_entity_version(entity, version)
        return self._perform([])

    def _column(
        self, schema: str, below: int | None, version: int, match: Match, entity: str, entity_version: int
    ) -> Change:
        """Case 3: the block of the next lower version goes on where its attributes do."""
        change = Change((schema, version, entity, entity_version), {})
        if below is None:
            return change
        for c, a in self.blocks[schema, below, entity, entity_version].items():
            if a in match.continued:
                change.block[c] = match.continued[a]
            elif a in match.retyped:
                change.retyped.add((a, c))
            else:
                change.dropped.add((a, c))
        if self.policy(schema, entity) == "freeze":
            change.block = {}
        change.came_back = self._came_back(change, below, match.unheard_of)
        return change

    def _came_back(self, change: Change, below: int, unheard_of: frozenset[str]) -> set[Cell]:
        """What names that were dropped once fed in earlier live versions; the latest mapping of each target counts."""
        schema, _, entity, entity_version = change.key
        suggested: Block = {}
        for version in sorted(self.schemas[schema]):
            if version < below:
                block = self.blocks[schema, version, entity, entity_version]
                suggested |= {c: a for c, a in block.items() if a in unheard_of}
        return {(a, c) for c, a in suggested.items() if c not in change.block}

    def _row(self, schema: str, schema_version: int, entity: str, old: int, new: int, match: Match) -> Change:
        """Case 4: likewise for the rows of the entity version that is replaced."""
        change = Change((schema, schema_version, entity, new), {})
        if not old:
            return change
        for c, a in self.blocks[schema, schema_version, entity, old].items():
            if c in match.continued:
                change.block[match.continued[c]] = a
            elif c in match.retyped:
                change.retyped.add((a, c))
            else:
                change.dropped.add((a, c))
        return change

    def _drop_entity_version(self, entity: str, version: int) -> None:
        """Case 2."""
        del self.entities[entity][version]
        self.blocks = {key: block for key, block in self.blocks.items() if key[2:] != (entity, version)}

    # Equivalence --------------------------------------------------------------------------------
    def _match(self, given: Sequence[Given], below: Version, above: Version) -> Match:
        claims = {each.name: claim for each in given if (claim := self._claim(each, named(below)))}
        if len({claim.name for claim in claims.values()}) < len(claims):
            raise Refused  # two attributes cannot both continue one
        types = {each.name: GENERALIZED[each.type] for each in given}
        identities = {name: claim.identity for name, claim in claims.items() if claim.type == types[name]}
        self._match_above(types, above, identities)
        fresh = [
            Attribute(each.name, types[each.name], each.renamed_from, identities.get(each.name) or 0) for each in given
        ]
        return Match(
            tuple(each if each.identity else replace(each, identity=next(self._identities)) for each in fresh),
            {claim.name: name for name, claim in claims.items() if claim.type == types[name]},
            frozenset(claim.name for name, claim in claims.items() if claim.type != types[name]),
            frozenset(types) - set(claims) - set(identities),
        )

    def _claim(self, each: Given, below: Mapping[str, Attribute]) -> Attribute | None:
        """An explicit rename comes before the same name."""
        return below.get(each.renamed_from or each.name) or below.get(each.name)

    def _match_above(self, types: Mapping[str, str], above: Version, identities: dict[str, int]) -> None:
        """A late version may share with the version above what it shares with none below; again, renames first."""
        renames = [(known.renamed_from, known) for known in above]
        for name, known in [*renames, *((known.name, known) for known in above)]:
            is_free = name not in identities and known.identity not in identities.values()
            if name is not None and is_free and types.get(name) == known.type:
                identities[name] = known.identity

    # Edits --------------------------------------------------------------------------------------
    def set_block(self, schema: str, version: int, entity: str, entity_version: int, mapping: Block) -> int:
        key = (schema, version, entity, entity_version)
        self._require_editable(key, mapping)
        return self._perform([self._edit(key, mapping)])

    def set_run(self, schema: str, version: int, entity: str, entity_version: int, mapping: Block) -> int:
        """The block and the later ones up to the next stored block, as far as the attributes are there."""
        self._require_editable((schema, version, entity, entity_version), mapping)
        stored = self.dusb().get((schema, entity, entity_version), {})
        end = min((each for each in stored if each > version), default=max(self.schemas[schema]) + 1)
        return self._perform(
            [
                self._edit((schema, each, entity, entity_version), self._carry(schema, version, each, mapping))
                for each in self.schemas[schema]
                if version <= each < end
            ]
        )

    def _edit(self, key: Key, mapping: Block) -> Change:
        lost = self.blocks[key].items() - mapping.items()
        return Change(key, dict(mapping), dropped={(a, c) for c, a in lost})

    def _require_editable(self, key: Key, mapping: Block) -> None:
        if key not in self.blocks or self.policy(key[0], key[2]) == "freeze":
            raise Refused
        known = named(self.schemas[key[0]][key[1]]), named(self.entities[key[2]][key[3]])
        is_known = all(a in known[0] and c in known[1] for c, a in mapping.items())
        if not is_known or len(set(mapping.values())) < len(mapping):
            raise Refused

    # Policies and plans -------------------------------------------------------------------------
    def set_policy(self, schema: str | None, entity: str | None, policy: str) -> None:
        if (schema is not None and schema not in self.schemas) or (entity is not None and entity not in self.entities):
            raise Refused
        self.policies[schema, entity] = policy

    def policy(self, schema: str, entity: str) -> str:
        for level in ([(schema, entity)], [(schema, None), (None, entity)], [(None, None)]):
            found = [self.policies[who] for who in level if who in self.policies]
            if found:
                return max(found, key=STRICTNESS.index)
        return "auto"

    def confirm_plan(self, plan_id: int) -> int:
        if plan_id not in self.plans:
            raise Refused
        plan = self.plans[plan_id]
        add = self.add_schema_version if plan.kind == "schema_version" else self.add_entity_version
        state = add(plan.name, plan.version, plan.given, plan)
        del self.plans[plan_id]
        return state

    def reject_plan(self, plan_id: int) -> None:
        if plan_id not in self.plans:
            raise Refused
        del self.plans[plan_id]

    def _refuse_to_overtake(self, kind: str, name: str, version: int, plan: Plan | None) -> None:
        """A version that copied from below one that waits would lose what that one keeps."""
        waiting = [each for each in self.plans.values() if (each.kind, each.name) == (kind, name)]
        if not plan and any(each.version <= version for each in waiting):
            raise Refused

    def _must_wait(self, changes: Iterable[Change]) -> bool:
        return any(change.lost and self.policy(change.key[0], change.key[2]) == "confirm" for change in changes)

    def _wait(self, plan: Plan, changes: Iterable[Change]) -> int:
        self.plans[next(self._plan_ids)] = plan
        self._tell("waiting", ((change, change.lost) for change in changes))
        return self.state

    def _refuse_frozen_cells(self, entity: str) -> None:
        if any(
            block and key[2] == entity and self.policy(key[0], entity) == "freeze" for key, block in self.blocks.items()
        ):
            raise Refused

    def _require_new(self, kind: str, name: str, version: int) -> None:
        if version < 1 or (kind, name, version) in self._used:
            raise Refused

    # States -------------------------------------------------------------------------------------
    def _perform(self, changes: Sequence[Change]) -> int:
        """The one place where blocks change: each call is one state."""
        self.blocks |= {change.key: change.block for change in changes}
        self.past.append(self.dpm())
        self._tell("vanished", ((change, change.dropped) for change in changes if not change.block))
        self._tell("shrunk", ((change, change.dropped) for change in changes if change.block))
        self._tell("type_changed", ((change, change.retyped) for change in changes))
        self._tell("came_back", ((change, change.came_back) for change in changes))
        return self.state

    def _tell(self, kind: str, told: Iterable[tuple[Change, set[Cell]]]) -> None:
        self.notices += [(self.state, kind, *change.key, frozenset(cells)) for change, cells in told if cells]
