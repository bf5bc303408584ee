"""The marts stay right and in place while the matrix changes and dbt builds."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis.stateful import precondition, rule
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from metl.db.install import install
from tests.conftest import Marts, scratch_database
from tests.dbt.conftest import Dbt
from tests.dbt.test_build import MARTS
from tests.matrix.roles import member
from tests.matrix.test_figures import GOLDEN
from tests.matrix.test_history import PLAN_ONCE, Connection, History, play

HISTORIES = 15
# dcpm unfolded again, to be compared with the ones of the matrix.
COLUMN_SETS = """
    select schema, version, part ->> 'entity', (part ->> 'entity_version')::int, cell.value, cell.key
    from metl_marts.dcpm
    cross join jsonb_array_elements(column_set) as part
    cross join jsonb_each_text(part -> 'mapping') as cell
"""


@pytest.fixture
def copied(postgres: str, marts: Marts, tmp_path: Path) -> Iterator[Dbt]:
    with scratch_database(postgres, marts.database) as name:
        yield Dbt(make_conninfo(postgres, dbname=name), tmp_path / "home")


@pytest.fixture
def built(copied: Dbt, marts: Marts) -> Dbt:
    with psycopg.connect(copied.dsn) as connection:
        connection.execute(GOLDEN)
    marts.refresh(copied.dsn)
    return copied


class Loop(threading.Thread):
    """Does something again and again until it is left; what went wrong is raised then."""

    def __init__(self, step: Any) -> None:
        super().__init__()
        self.step, self.rounds = step, 0
        self._over = threading.Event()
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._over.is_set():
                self.step()
                self.rounds += 1
        except BaseException as error:
            self._error = error

    def __enter__(self) -> "Loop":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()
        if self._error:
            raise self._error


def read_all(reader: Connection, history: Connection) -> None:
    """Every mart is there, and what it says is the matrix of the one state that it names."""
    for mart in sorted(MARTS):
        reader.execute(f"select * from metl_marts.{mart}".encode()).fetchall()
    ones = reader.execute("select * from metl_marts.dpm").fetchall()
    [state] = {one[-1] for one in ones}
    past = history.execute("select * from metl.decompaction_at(%s)", [state]).fetchall()
    assert Counter(one[:-1] for one in ones) == Counter(past)
    with reader.transaction():
        reader.execute("set transaction isolation level repeatable read")
        assert Counter(reader.execute(COLUMN_SETS.encode()).fetchall()) == Counter(
            reader.execute("select * from metl.decompaction").fetchall()
        )


def test_a_reader_never_misses_a_mart_while_dbt_builds(built: Dbt) -> None:
    versions = iter(range(3, 10_000))

    def write() -> None:
        attributes = Jsonb([{"name": "a4", "type": "string"}, {"name": "a5", "type": "string"}])
        writer.execute("select metl.add_schema_version('s1', %s, %s)", [next(versions), attributes])
        time.sleep(0.05)

    with (
        psycopg.connect(built.dsn, autocommit=True) as owner,
        psycopg.connect(built.dsn, autocommit=True) as writer,
        member(owner, "metl_reader") as reader,
        Loop(lambda: read_all(reader, owner)) as reading,
        Loop(write) as writing,
    ):
        built.succeed("build")
        built.succeed("run", "--full-refresh")
    assert reading.rounds > 20 and writing.rounds > 20, "too little happened to mean anything"


def test_a_reader_who_stays_holds_nobody_up(built: Dbt) -> None:
    """As a tool does that leaves its transaction open: behind a build that waited for it, all others would wait."""
    with (
        psycopg.connect(built.dsn) as idle,
        psycopg.connect(built.dsn, autocommit=True, options="-c statement_timeout=2s") as other,
        Loop(lambda: [other.execute(f"select count(*) from metl_marts.{mart}".encode()) for mart in MARTS]) as reading,
    ):
        for mart in MARTS:
            idle.execute(f"select count(*) from metl_marts.{mart}".encode())
        built.succeed("build")
    assert reading.rounds > 20


def test_installing_again_disturbs_no_reader(built: Dbt) -> None:
    with (
        psycopg.connect(built.dsn, autocommit=True) as one,
        psycopg.connect(built.dsn, autocommit=True) as other,
        psycopg.connect(built.dsn, autocommit=True) as owner,
        Loop(lambda: read_all(one, owner)) as reading,
        Loop(lambda: other.execute("select * from metl_marts.dcpm").fetchall()) as reading_too,
    ):
        owner.execute("alter view metl_marts.dpm set (security_barrier)")
        for _ in range(20):
            assert install(built.dsn).migrations == []
            time.sleep(0.1)
        options = owner.execute("select reloptions from pg_class where oid = 'metl_marts.dpm'::regclass").fetchall()
        assert options == [(["security_barrier=true"],)], "what somebody set on a mart stays"
    assert reading.rounds > 5 and reading_too.rounds > 5


def test_what_others_build_on_a_mart_survives(built: Dbt) -> None:
    with psycopg.connect(built.dsn, autocommit=True) as owner:
        owner.execute("create view public.report as select entity, count(*) from metl_marts.dpm group by entity")
        owner.execute("create view public.cache as select schema from metl_marts.dcpm")
        owner.execute("grant select on metl_marts.drpm to public")
        built.succeed("run", "--full-refresh")
        assert owner.execute("select has_table_privilege('public', 'metl_marts.drpm', 'select')").fetchall() == [
            (True,)
        ]
        assert owner.execute("select count(*) from public.report").fetchall() == [(3,)]
        assert owner.execute("select count(*) from public.cache").fetchall() == [(3,)]


def test_two_builds_at_once_do_no_harm(built: Dbt) -> None:
    other = Dbt(built.dsn, built.home.path / "other")
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda dbt: dbt("run", "--select", "column_sets", "dcpm"), [built, other]))
    for each in done:
        assert each.returncode == 0, each.stdout
    with psycopg.connect(built.dsn) as connection:
        assert connection.execute("select count(*) from metl_intermediate.column_sets").fetchall() == [(3,)]
        assert connection.execute("select count(*) from metl_marts.dcpm").fetchall() == [(3,)]


def test_column_sets_of_another_history_are_not_believed(built: Dbt) -> None:
    """METL installed anew counts its states from 1 again; what was built before must not show."""
    with psycopg.connect(built.dsn, autocommit=True) as connection:
        connection.execute("update metl_intermediate.column_sets set column_set = '[]', state_at = '2000-01-01'")
        connection.execute("update metl_intermediate.column_sets set schema = 'gone' where schema = 's2'")
        assert connection.execute("select count(*) from metl_marts.dcpm where column_set = '[]'").fetchall() == [(0,)]
        assert connection.execute("select distinct schema from metl_marts.dcpm order by 1").fetchall() == [
            ("s1",),
            ("s2",),
        ]


@pytest.mark.timeout(600)
def test_marts_follow_random_histories(copied: Dbt, marts: Marts) -> None:
    builds = 0

    with psycopg.connect(copied.dsn, prepare_threshold=0, options=PLAN_ONCE) as connection:

        class Derived(History):
            def __init__(self) -> None:
                super().__init__(connection)

            @precondition(lambda self: self.matrix.blocks)
            @rule()
            def build(self) -> None:
                """What dbt does to the stored column sets, now and then between the changes."""
                nonlocal builds
                builds += 1
                for statement in marts.refill:
                    connection.execute(statement)
                self.script.append("-- build")
                self.compare()

            def compare(self) -> None:
                """That the matrix itself is right, tests/matrix sees to."""
                ones, state = list(self.matrix.dpm()), self.matrix.state
                assert self.same_rows("select * from metl_marts.dpm", [(*one, state) for one in ones])
                assert self.same_rows(COLUMN_SETS, ones)
                live = [(name, version, state) for name, tree in self.matrix.schemas.items() for version in tree]
                assert self.same_rows("select schema, version, state from metl_marts.dcpm", live)
                columns = "schema, version, entity, entity_version, attribute, entity_attribute"
                assert self.same_rows(f"select {columns} from metl_marts.drpm", ones)
                assert self.same_rows("select dpm, dusb, null_blocks from metl_marts.compaction", [self.figures()])
                covered = Counter((entity, attribute) for *_, entity, _, _, attribute in ones)
                assert self.same_rows(
                    "select entity, entity_attribute, schema_versions from metl_marts.coverage",
                    [
                        (name, attribute.name, covered[name, attribute.name])
                        for name, tree in self.matrix.entities.items()
                        for attributes in tree.values()
                        for attribute in attributes
                    ],
                )

            def figures(self) -> tuple[int, int, int]:
                stored = [block for chain in self.matrix.dusb().values() for block in chain.values()]
                return len(list(self.matrix.dpm())), sum(map(len, stored)), sum(not block for block in stored)

            def teardown(self) -> None:
                connection.rollback()

        play(Derived, HISTORIES)
    assert builds > HISTORIES
