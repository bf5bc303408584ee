"""Random histories, step by step on a real database and on the oracle, which have to agree after every step.

METL_HISTORIES=2000 runs that many instead of the few that every run of the tests can afford.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.matrix.oracle import Block, Given, Matrix, Refused

HISTORIES = int(os.environ.get("METL_HISTORIES", "60"))
STEPS = 25
PLAN_ONCE = "-c plan_cache_mode=force_generic_plan"
TOLD = ["shrunk", "vanished", "type_changed", "came_back", "waiting"]

Connection = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")

schemas = st.sampled_from(["s", "t"])
entities = st.sampled_from(["e", "f"])
# int32 and int64 are the same to the canonical data model; None leaves the attribute out.
types = st.sampled_from([None, "int32", "int32", "int64", "int64", "string"])


@st.composite
def attributes(draw: st.DrawFn, alphabet: str) -> tuple[Given, ...]:
    """Up to four attributes; now and then one or two say what they were called before."""
    drawn = {name: draw(types) for name in alphabet}
    renames: dict[str, str] = draw(st.dictionaries(st.sampled_from(alphabet), st.sampled_from(alphabet), max_size=2))
    # Two that were both renamed from one are refused where it exists; where it does not, nothing says which is meant.
    last = {old: new for new, old in renames.items()}
    return tuple(
        Given(name, type_, renames[name] if last.get(renames.get(name, "")) == name else None)
        for name, type_ in drawn.items()
        if type_
    )


def as_json(given: tuple[Given, ...]) -> Jsonb:
    return Jsonb(
        [
            {"name": each.name, "type": each.type} | ({"renamed_from": each.renamed_from} if each.renamed_from else {})
            for each in given
        ]
    )


class History(RuleBasedStateMachine):
    """Each history is one transaction, rolled back at its end; each step of it is a savepoint."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.connection = connection
        self.matrix = Matrix()
        self.script: list[str] = []
        # What a rollback leaves: numbers of plans go on, but a script has to begin with plan 1.
        self.rows("select setval(pg_get_serial_sequence('metl.waiting_plan', 'plan_id'), 1, false)")

    # What can happen ----------------------------------------------------------------------------
    @initialize(data=st.data(), given=attributes("abcd"), wanted=attributes("uvwx"))
    def begin(self, data: st.DataObject, given: tuple[Given, ...], wanted: tuple[Given, ...]) -> None:
        """Little happens to an empty matrix."""
        self.add_schema_version(data, "s", given)
        self.add_entity_version(data, "e", wanted)
        self.set_block(data)

    @precondition(lambda self: len(self.matrix.blocks) < 12)
    @rule(data=st.data(), schema=schemas, given=attributes("abcd"))
    def add_schema_version(self, data: st.DataObject, schema: str, given: tuple[Given, ...]) -> None:
        version = self.unused(data, "schema", schema)
        self.step(
            lambda: self.matrix.add_schema_version(schema, version, given),
            "add_schema_version", schema, version, as_json(given),
        )  # fmt: skip

    @precondition(lambda self: len(self.matrix.blocks) > 1)
    @rule(data=st.data(), entity=entities, given=attributes("uvwx"))
    def add_entity_version(self, data: st.DataObject, entity: str, given: tuple[Given, ...]) -> None:
        version = self.unused(data, "entity", entity)
        self.step(
            lambda: self.matrix.add_entity_version(entity, version, given),
            "add_entity_version", entity, version, as_json(given),
        )  # fmt: skip

    @precondition(lambda self: self.matrix.blocks)
    @rule(data=st.data())
    def set_block(self, data: st.DataObject) -> None:
        key, mapping = self.mapping(data)
        self.step(lambda: self.matrix.set_block(*key, mapping), "set_block", *key, Jsonb(mapping))

    @precondition(lambda self: self.matrix.blocks)
    @rule(data=st.data())
    def set_run(self, data: st.DataObject) -> None:
        key, mapping = self.mapping(data)
        self.step(lambda: self.matrix.set_run(*key, mapping), "set_run", *key, Jsonb(mapping))

    @precondition(lambda self: len(self.matrix.blocks) > 1)
    @rule(data=st.data())
    def delete_version(self, data: st.DataObject) -> None:
        function, name, version = data.draw(st.sampled_from(self.live()))
        delete: Callable[[str, int], int] = getattr(self.matrix, function)
        self.step(lambda: delete(name, version), function, name, version)

    @precondition(lambda self: any(self.matrix.blocks.values()))
    @rule(
        schema=st.none() | schemas,
        entity=st.none() | entities,
        policy=st.sampled_from(["confirm", "confirm", "confirm", "auto", "freeze"]),
    )
    def set_policy(self, schema: str | None, entity: str | None, policy: str) -> None:
        self.step(lambda: self.matrix.set_policy(schema, entity, policy), "set_policy", schema, entity, policy)

    @precondition(lambda self: any(self.matrix.blocks.values()) and not self.matrix.plans)
    @rule(data=st.data(), is_schema=st.booleans())
    def add_what_has_to_wait(self, data: st.DataObject, is_schema: bool) -> None:
        """Nothing goes on in an empty version; by chance alone, few updates would wait."""
        mapped = sorted(key for key, block in self.matrix.blocks.items() if block)
        schema, _, entity, _ = data.draw(st.sampled_from(mapped))
        self.set_policy(schema, entity, "confirm")
        if is_schema:
            self.add_schema_version(data, schema, ())
        else:
            self.add_entity_version(data, entity, ())

    @precondition(lambda self: self.matrix.plans)
    @rule(data=st.data())
    def confirm_plan(self, data: st.DataObject) -> None:
        plan = data.draw(st.sampled_from(list(self.matrix.plans)))
        self.step(lambda: self.matrix.confirm_plan(plan), "confirm_plan", plan)

    @precondition(lambda self: self.matrix.plans)
    @rule(data=st.data())
    def reject_plan(self, data: st.DataObject) -> None:
        plan = data.draw(st.sampled_from(list(self.matrix.plans)))
        self.step(lambda: self.matrix.reject_plan(plan), "reject_plan", plan)

    def live(self) -> list[tuple[str, str, int]]:
        """Every live version and the function that deletes it."""
        trees = {"delete_schema_version": self.matrix.schemas, "delete_entity_version": self.matrix.entities}
        return [(each, name, version) for each, tree in trees.items() for name in tree for version in tree[name]]

    def unused(self, data: st.DataObject, kind: str, name: str) -> int:
        """The first is in the middle, so that later ones come before and after it, with gaps."""
        free = [each for each in range(1, 40) if each not in self.matrix.used(kind, name)]
        return data.draw(st.sampled_from(sorted(free[:8], key=lambda each: abs(each - 4))))

    def mapping(self, data: st.DataObject) -> tuple[tuple[str, int, str, int], Block]:
        key = data.draw(st.sampled_from(sorted(self.matrix.blocks)))
        sources = data.draw(st.permutations([each.name for each in self.matrix.schemas[key[0]][key[1]]]))
        targets = data.draw(st.permutations([each.name for each in self.matrix.entities[key[2]][key[3]]]))
        size = data.draw(st.integers(0, min(len(sources), len(targets))))
        return key, dict(zip(targets[:size], sources, strict=False))

    # Both have to agree -------------------------------------------------------------------------
    def step(self, on_oracle: Callable[[], int | None], function: str, *arguments: object) -> None:
        call = sql.SQL(f"select metl.{function}({{}})").format(sql.SQL(", ").join(map(sql.Literal, arguments)))
        self.script.append(call.as_string(self.connection) + ";")
        with self.told_as_script():
            expected = outcome(on_oracle, Refused)
            assert outcome(lambda: self.call(call), psycopg.Error) == expected
            self.compare()

    def call(self, call: sql.Composed) -> int | None:
        with self.connection.transaction():
            [(result,)] = self.rows(call)
        return int(result) if isinstance(result, int) else None

    def compare(self) -> None:
        assert self.rows("select metl.current_state()") == [(self.matrix.state,)]
        assert self.same_rows("select * from metl.decompaction", self.matrix.dpm())
        assert self.same_rows("select * from metl.dusb", stored_rows(self.matrix))
        assert self.same_rows("select * from metl.check()", [])
        assert self.same_rows(
            "select plan_id from metl.plans where decision = 'waiting'", [(p,) for p in self.matrix.plans]
        )
        assert Counter(self.told()) == Counter(self.matrix.notices)
        self.compare_past(max(self.matrix.state - 1, 0))
        assert self.matrix.decompact(self.matrix.dusb()) == self.matrix.blocks, "the oracle is wrong"

    def compare_past(self, state: int) -> None:
        assert self.same_rows(f"select * from metl.decompaction_at({state})", self.matrix.past[state])

    def same_rows(self, query: str, expected: Any) -> bool:
        """Equal, duplicates and all; what differs is in the message."""
        found, wanted = Counter(self.rows(query)), Counter(expected)
        assert (found - wanted, wanted - found) == (Counter(), Counter()), f"{query}: too many, missing"
        return True

    def told(self) -> Iterator[tuple[Any, ...]]:
        query = (
            "select state, kind, schema, version, entity, entity_version, lost from metl.notices where kind = any(%s)"
        )
        for *key, lost in self.rows(query, [TOLD]):
            yield (*key, frozenset((cell["attribute"], cell["entity_attribute"]) for cell in lost))

    def rows(self, query: str | sql.Composed, *parameters: list[Any]) -> list[tuple[Any, ...]]:
        return self.connection.execute(query, *parameters).fetchall()

    @contextlib.contextmanager
    def told_as_script(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            error.add_note("\n".join(["The history, for psql on a fresh database:", *self.script]))
            self.script.append("-- failed")
            raise

    def teardown(self) -> None:
        try:
            if "-- failed" not in self.script:
                with self.told_as_script():
                    for state in range(self.matrix.state + 1):
                        self.compare_past(state)
        finally:
            self.connection.rollback()


def outcome(act: Callable[[], T], refusal: type[Exception]) -> T | str:
    try:
        return act()
    except refusal as error:
        # What PostgreSQL refuses by itself is no answer a user should see.
        if isinstance(error, psycopg.Error):
            assert error.diag.message_hint, f"an error without a hint: {error}"
        return "refused"


def stored_rows(matrix: Matrix) -> list[tuple[str, str, int, int, str | None, str | None]]:
    return [
        (*chain, version, a, c)
        for chain, unique in matrix.dusb().items()
        for version, block in unique.items()
        for c, a in (block.items() or [(None, None)])
    ]


def play(machine: type[RuleBasedStateMachine], histories: int, **more: Any) -> None:
    """The same ones every time, so that a change is judged by what it changed, unless told otherwise."""
    profile = settings(
        max_examples=histories,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        # One failure at a time shrinks soonest, and the script explains it.
        report_multiple_bugs=False,
        **{"derandomize": True, "phases": [Phase.generate, Phase.shrink], **more},
    )
    run_state_machine_as_test(machine, settings=profile)


@pytest.mark.timeout(900 + 4 * HISTORIES)  # a failing history needs time to shrink
def test_histories_agree_with_the_oracle(database: str) -> None:
    # The tables stay tiny, so that most of the time would go into planning the same queries again.
    with psycopg.connect(database, prepare_threshold=0, options=PLAN_ONCE) as connection:

        class Connected(History):
            def __init__(self) -> None:
                super().__init__(connection)

        # METL_HISTORIES looks for new ones.
        looks_for_new_ones = "METL_HISTORIES" in os.environ
        play(
            Connected, HISTORIES, derandomize=not looks_for_new_ones, phases=[Phase.reuse, Phase.generate, Phase.shrink]
        )


@pytest.mark.parametrize(
    ("late", "above"),
    [
        pytest.param(
            [Given("b", "int32"), Given("c", "int32")], [Given("c", "int32", "b")], id="a name was taken over"
        ),
        pytest.param(
            [Given("b", "int32")], [Given("c", "int32", "b"), Given("b", "int32")], id="a name was used again"
        ),
        pytest.param([Given("b", "int32")], [Given("b", "int32"), Given("c", "int32", "b")], id="the same, in reverse"),
    ],
)
def test_a_rename_counts_for_late_versions_too(database: str, late: list[Given], above: list[Given]) -> None:
    """Version 3 says that its c was called b: so it was, whether version 2 comes before or after it."""
    with psycopg.connect(database) as connection:
        for version, given in [(3, above), (2, late)]:
            connection.execute("select metl.add_schema_version('s', %s, %s)", [version, as_json(tuple(given))])
        query = "select version, attribute, attribute_id from metl.schema_attributes"
        identities = {(version, name): identity for version, name, identity in connection.execute(query)}
    assert identities[2, "b"] == identities[3, "c"]


def test_a_block_with_other_cells_has_not_vanished(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("select metl.add_schema_version('s', 1, %s)", [as_json((Given("a", "int32"),))])
        connection.execute(
            "select metl.add_entity_version('e', 1, %s)", [as_json((Given("u", "int32"), Given("v", "int32")))]
        )
        for mapping in ({"u": "a"}, {"v": "a"}, {}):
            connection.execute("select metl.set_block('s', 1, 'e', 1, %s)", [Jsonb(mapping)])
        kinds = connection.execute("select kind from metl.notices order by state").fetchall()
    assert kinds == [("shrunk",), ("vanished",)]
