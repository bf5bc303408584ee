"""`dbt build` on the golden figure: what the marts say, how they look to others, and who may read them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.conftest import scratch_database
from tests.dbt.conftest import Dbt
from tests.matrix.roles import member
from tests.matrix.test_figures import GOLDEN

MARTS = {"dpm", "dcpm", "drpm", "coverage", "compaction", "progression", "states"}
Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def golden(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dbt]:
    with scratch_database(postgres, template) as name:
        dbt = Dbt(make_conninfo(postgres, dbname=name), tmp_path_factory.mktemp("golden"))
        with psycopg.connect(dbt.dsn) as connection:
            connection.execute(GOLDEN)
            connection.execute("""select metl.set_refs('s1', 1, '{"global_id": 11, "content_id": 5}')""")
            connection.execute("""select metl.set_refs('s1', 2, '{"global_id": 12, "content_id": 5}')""")
        dbt.succeed("build")
        yield dbt


@pytest.fixture
def owner(golden: Dbt) -> Iterator[Connection]:
    with psycopg.connect(golden.dsn, autocommit=True) as connection:
        yield connection


def rows(connection: Connection, query: str) -> Counter[tuple[Any, ...]]:
    return Counter(connection.execute(query.encode()).fetchall())


def test_every_model_is_built_and_every_test_passes(golden: Dbt) -> None:
    results = golden.artifact("run_results")
    kinds = Counter(result["unique_id"].split(".")[0] for result in results["results"])
    assert kinds["model"] == len(MARTS) + 1
    assert kinds["test"] >= 40 and kinds["unit_test"] >= 8
    assert {result["status"] for result in results["results"]} <= {"success", "pass", "no-op"}
    assert results["elapsed_time"] < 60


def test_the_golden_figure(owner: Connection) -> None:
    figures = "select elements, dpm, dusb, null_blocks, round(ratio, 4)::text, state from metl_marts.compaction"
    assert rows(owner, figures) == {(30, 7, 5, 1, "0.8000", 12): 1}
    ones = rows(
        owner, "select schema, version, entity, entity_version, attribute, entity_attribute from metl_marts.dpm"
    )
    assert ones.total() == 7
    assert ones == rows(owner, "select * from metl.decompaction")
    assert rows(owner, "select distinct state from metl_marts.dpm") == {(12,): 1}


def test_a_column_set_holds_what_a_message_needs(owner: Connection) -> None:
    found = owner.execute(
        "select schema, version, refs, column_set, state from metl_marts.dcpm order by 1, 2"
    ).fetchall()
    be1 = {"entity": "be1", "entity_version": 2}
    assert found == [
        (
            "s1", 1, {"version": ["1"], "global_id": ["11"]},
            [{**be1, "mapping": {"c3": "a1", "c4": "a3"}},
             {"entity": "be3", "entity_version": 1, "mapping": {"c6": "a2", "c7": "a1"}}],
            12,
        ),
        # Both versions have content 5: messages that say so mean the newer one.
        (
            "s1", 2, {"version": ["2"], "global_id": ["12"], "content_id": ["5"]},
            [{**be1, "mapping": {"c3": "a4", "c4": "a5"}}],
            12,
        ),
        ("s2", 1, {"version": ["1"]}, [{"entity": "be2", "entity_version": 1, "mapping": {"c5": "a6"}}], 12),
    ]  # fmt: skip


def test_marts_agree_with_the_functions_of_the_matrix(owner: Connection) -> None:
    columns = "schema, version, attribute, entity_attribute"
    mart = rows(owner, f"select {columns} from metl_marts.drpm where entity = 'be1'")
    assert mart == rows(owner, f"select {columns} from metl.fed_by('be1', 2)")
    for schema in ("s1", "s2"):
        columns = "version, entity, entity_version, attribute, entity_attribute, change"
        mart = rows(owner, f"select {columns} from metl_marts.progression where schema = '{schema}'")
        assert mart == rows(owner, f"select {columns} from metl.progression('{schema}')")
    assert rows(
        owner, "select entity_attribute, type, schemas_today::int from metl_marts.coverage where entity = 'be3'"
    ) == (rows(owner, "select entity_attribute, type, sources from metl.coverage('be3', 1)"))
    assert rows(owner, "select state, cause, who, at from metl_marts.states") == (
        rows(owner, "select state, cause, who, at from metl.states")
    )


def test_a_change_shows_at_once(golden: Dbt) -> None:
    with psycopg.connect(golden.dsn) as connection:
        connection.execute("""select metl.set_block('s2', 1, 'be2', 1, '{}')""")
        connection.execute("""select metl.add_schema_version('s3', 1, '[]', '{"global_id": 30}')""")
        counts = {mart: rows(connection, f"select count(*) from metl_marts.{mart}") for mart in ("dpm", "drpm", "dcpm")}
        assert counts == {"dpm": {(6,): 1}, "drpm": {(6,): 1}, "dcpm": {(4,): 1}}
        assert rows(connection, "select distinct state from metl_marts.dcpm") == {(14,): 1}
        empty = "select schema, refs::text from metl_marts.dcpm where column_set = '[]'"
        assert rows(connection, empty) == {
            ("s2", '{"version": ["1"]}'): 1,
            ("s3", '{"version": ["1"], "global_id": ["30"]}'): 1,
        }
        connection.rollback()


# How they look to others ---------------------------------------------------------------------------
def test_every_mart_and_column_has_a_comment(owner: Connection) -> None:
    found = owner.execute("""
        select relname, attname, obj_description(pg_class.oid, 'pg_class'), col_description(pg_class.oid, attnum)
        from pg_class inner join pg_attribute on attrelid = pg_class.oid and attnum > 0
        where relnamespace = 'metl_marts'::regnamespace
    """).fetchall()
    assert {mart for mart, *_ in found} == MARTS
    assert [row for row in found if not all((word or "").strip() for word in row)] == []
    [(schema,)] = owner.execute("select obj_description('metl_marts'::regnamespace, 'pg_namespace')").fetchall()
    assert schema


def test_only_dcpm_holds_json(owner: Connection) -> None:
    awkward = "data_type not in ('text', 'integer', 'bigint', 'numeric', 'boolean', 'timestamp with time zone')"
    query = f"""
        select table_name, column_name from information_schema.columns
        where table_schema = 'metl_marts' and {awkward}
    """
    assert rows(owner, query) == {("dcpm", "refs"): 1, ("dcpm", "column_set"): 1}


@pytest.mark.parametrize("role", ["metl_reader", "metl_job", "metl_steward"])
def test_whoever_may_read_sees_the_marts_and_no_internals(owner: Connection, role: str) -> None:
    with member(owner, role) as somebody:
        for mart in MARTS:
            assert rows(somebody, f"select count(*) from metl_marts.{mart}").total() == 1
        # What a tool that lists tables gets to see, as the standard has it.
        seen = rows(somebody, "select table_schema, table_name from information_schema.tables")
        ours = {(schema, name) for schema, name in seen if schema.startswith("metl")}
        assert {name for schema, name in ours if schema == "metl_marts"} == MARTS
        assert {schema for schema, _ in ours} == {"metl_marts", "metl"}
        assert not [name for _, name in ours if name.startswith("_") or name in {"block", "cell", "column_sets"}]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            somebody.execute("select * from metl_intermediate.column_sets")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            somebody.execute("create view metl_marts.mine as select 1")


def test_a_stranger_sees_nothing(owner: Connection) -> None:
    query = "select relname from pg_class where relnamespace = 'metl_marts'::regnamespace and relacl::text ~ '[{,]='"
    assert rows(owner, query).total() == 0, "nothing is granted to public"


def test_no_mart_depends_on_another(owner: Connection) -> None:
    """So that none has to be dropped for another's sake."""
    query = """
        select distinct reader.relname, used.relname
        from pg_depend
        inner join pg_rewrite on pg_depend.objid = pg_rewrite.oid
        inner join pg_class as reader on pg_rewrite.ev_class = reader.oid
        inner join pg_class as used on pg_depend.refobjid = used.oid and used.oid <> reader.oid
        where reader.relnamespace = 'metl_marts'::regnamespace and used.relnamespace <> 'metl'::regnamespace
    """
    assert rows(owner, query) == {("dcpm", "column_sets"): 1}


def test_the_documentation_has_every_mart(golden: Dbt) -> None:
    golden.succeed("docs", "generate")
    catalog = golden.artifact("catalog")["nodes"]
    for mart in MARTS:
        columns = catalog[f"model.metl.{mart}"]["columns"]
        assert columns and all(column["comment"] for column in columns.values())
    exposures = golden.artifact("manifest")["exposures"].values()
    assert {each["name"] for each in exposures} == {"map_stream", "load_stream", "console"}


def test_every_model_is_documented_and_every_mart_under_contract(golden: Dbt) -> None:
    models = [node for node in golden.artifact("manifest")["nodes"].values() if node["resource_type"] == "model"]
    assert [model["name"] for model in models if not model["description"]] == []
    contracts = {model["name"]: model["contract"]["enforced"] for model in models if model["schema"] == "metl_marts"}
    assert {name for name, enforced in contracts.items() if enforced} >= MARTS
    sources = golden.artifact("manifest")["sources"].values()
    assert {source["schema"] for source in sources} == {"metl"}
    assert not [source["name"] for source in sources if source["name"].startswith("_")]
