"""`metl marts lineage`: every column of the marts leads to tables that are in PostgreSQL's own catalog."""

import copy
import json
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.conninfo import make_conninfo

from metl.cli import main
from metl.errors import MetlError
from metl.marts.lineage import Lineage, tables
from metl.marts.openlineage import run_event
from tests.conftest import Marts, scratch_database
from tests.dbt.conftest import Dbt

Connection = psycopg.Connection[tuple[Any, ...]]
MARTS = ["compaction", "coverage", "dcpm", "dpm", "drpm", "progression", "states"]
ORIGINS = {
    "dpm.schema": {"metl.schema.name"},
    "dpm.version": {"metl.attribute_version.version"},
    "dpm.entity": {"metl.entity.name"},
    "dpm.entity_version": {"metl.block.entity_version"},
    "dpm.attribute": {"metl.attribute_version.name"},
    "dpm.entity_attribute": {"metl.entity_attribute_version.name"},
    "dpm.state": {"metl.state.state"},
    "dcpm.column_set": {
        "metl.attribute_version.name",
        "metl.block.entity_version",
        "metl.entity.name",
        "metl.entity_attribute_version.name",
    },
    "dcpm.refs": {"metl.schema_ref.kind", "metl.schema_ref.ref", "metl.schema_version.version"},
    "compaction.elements": {"metl.attribute_version.name", "metl.entity_attribute_version.name"},
    "compaction.dpm": {"metl.attribute_version.name"},
    "compaction.dusb": {"metl.attribute_version.name"},
    "compaction.null_blocks": {"metl.attribute_version.name", "metl.block.version"},
    "compaction.ratio": {
        "metl.attribute_version.name",
        "metl.block.version",
        "metl.entity_attribute_version.name",
    },
    "compaction.state": {"metl.state.state"},
    "coverage.schemas": {"metl.schema.name"},
    "coverage.position": {"metl.entity_attribute_version.position"},
    "drpm.type": {"metl.entity_attribute.type"},
    "drpm.source_type": {"metl.attribute_version.source_type"},
    "progression.version": {"metl.schema_version.version"},
    "progression.change": {"'gained' in metl.progressions", "'lost' in metl.progressions"},
    "states.kept": {"metl.state.summary"},
    "stg_schema_changes.state": {
        "metl.block.since",
        "metl.block.until",
        "metl.schema_ref.since",
        "metl.schema_ref.until",
        "metl.schema_version.added",
        "metl.schema_version.deleted",
    },
    "int_refs.version": {"metl.schema_ref.version"},
}


@pytest.fixture(scope="module")
def built(postgres: str, marts: Marts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dbt]:
    with scratch_database(postgres, marts.database) as name:
        yield Dbt(make_conninfo(postgres, dbname=name), tmp_path_factory.mktemp("lineage"))


@pytest.fixture(scope="module")
def manifest(marts: Marts) -> Any:
    return marts.manifest


@pytest.fixture(scope="module")
def owner(built: Dbt) -> Iterator[Connection]:
    with psycopg.connect(built.dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def known(manifest: Any, owner: Connection) -> Lineage:
    return Lineage(manifest, tables(owner))


def origins(known: Lineage, model: str, column: str | None = None) -> set[str]:
    ends = [end for step in known.of_model(model, column) for end in step.leaves()]
    return {
        f"{end.constant} in {end.relation}" if end.kind == "constant" else f"{end.relation}.{end.column}"
        for end in ends
    }


def test_the_marts_are_known(known: Lineage) -> None:
    assert known.marts == MARTS


@pytest.mark.parametrize("mart", MARTS)
def test_every_column_leads_to_a_column_of_a_table_or_to_a_constant_of_a_view(
    mart: str, known: Lineage, owner: Connection
) -> None:
    def listed(query: str) -> list[str]:
        return [row[0] for row in owner.execute(query.encode()).fetchall()]

    columns = listed(
        "select column_name from information_schema.columns "
        f"where table_schema = 'metl_marts' and table_name = '{mart}' order by ordinal_position"
    )
    in_tables = listed(
        "select 'metl.' || table_name || '.' || column_name "
        "from information_schema.columns inner join information_schema.tables using (table_schema, table_name) "
        "where table_schema = 'metl' and table_type = 'BASE TABLE'"
    )
    views = listed("select 'metl.' || table_name from information_schema.views where table_schema = 'metl'")
    steps = known.of_model(mart)
    assert [step.column for step in steps] == columns
    for step in steps:
        ends = list(step.leaves())
        assert ends
        for end in ends:
            if end.kind == "constant":
                assert end.relation in views and end.constant
            else:
                assert end.kind == "table" and f"{end.relation}.{end.column}" in in_tables


@pytest.mark.parametrize("target", ORIGINS)
def test_origins(target: str, known: Lineage) -> None:
    assert origins(known, *target.split(".")) == ORIGINS[target]


@pytest.mark.parametrize("mart", MARTS)
def test_postgresql_agrees(mart: str, known: Lineage, owner: Connection) -> None:
    """Its catalog has what each view reads, for joins and filters too, found without our parser."""
    rows = owner.execute(
        """
        with recursive reads as (
            select %s::regclass::oid as relation, 0 as field
            union
            select below.refobjid, below.refobjsubid
            from reads
            inner join pg_rewrite as rule on reads.relation = rule.ev_class
            inner join pg_depend as below on rule.oid = below.objid and below.classid = 'pg_rewrite'::regclass
            where below.refclassid = 'pg_class'::regclass
        )
        select 'metl.' || relname, attname::text
        from reads
        inner join pg_class on pg_class.oid = reads.relation
        left join pg_attribute on attrelid = reads.relation and attnum = reads.field and attnum > 0
        where relkind = 'r' and relnamespace = 'metl'::regnamespace
        """,
        (f"metl_marts.{mart}",),
    ).fetchall()
    assert known.tables_below(f"metl_marts.{mart}") == {table for table, _ in rows}
    named = {origin for origin in origins(known, mart) if " in " not in origin}
    assert named <= {f"{table}.{column}" for table, column in rows}


def rewritten(manifest: Any, owner: Connection, query: str) -> Lineage:
    """As if this were the SQL of dpm."""
    other = copy.deepcopy(manifest)
    other["nodes"]["model.metl.dpm"]["compiled_code"] = query
    return Lineage(other, tables(owner))


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("select nowhere as x from metl.decompaction", "Column 'nowhere' could not be resolved"),
        ("select ones.nowhere as x from metl.decompaction as ones", "Unknown column: nowhere"),
        ("with ones as (select schema from metl.decompaction) select nowhere as x from ones", "'nowhere' could not be"),
        (
            "select other.x from metl.decompaction cross join metl.nothing as other",
            "The origin of metl_marts.dpm.x is unknown: it reads metl.nothing.x, which no model, view or table of METL",
        ),
        ("select * from metl.nothing", "metl.nothing"),
        (
            "select count(*) as x from metl.decompaction",
            r"of metl_marts.dpm.x is unknown: there is no column in COUNT\(\*",
        ),
        ("select now() as x", "metl_marts.dpm.x is unknown"),
        ("select to_jsonb(ones) as x from metl.decompaction as ones", "metl_marts.dpm.x is unknown"),
        ("select x from", "The SQL of model dpm cannot be read"),
    ],
)
def test_a_column_from_nowhere_is_an_error(query: str, sentence: str, manifest: Any, owner: Connection) -> None:
    with pytest.raises(MetlError, match=sentence):
        rewritten(manifest, owner, query).of_model("dpm")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            'select * from "anywhere"."metl"."states"',
            {f"metl.state.{name}" for name in ("state", "cause", "who", "why", "at", "summary")},
        ),
        ("select cause as x from metl.decompaction cross join metl.states", {"metl.state.cause"}),
        ("select (select max(state) from metl.states) as x from metl.decompaction", {"metl.state.state"}),
        ("select schema as x from metl.dusb where entity = 'person'", {"metl.schema.name"}),
        (
            "select name as x from metl.schema union all select null::text",
            {"metl.schema.name", "CAST(NULL AS TEXT) in metl_marts.dpm"},
        ),
        ("with states as (select who as cause from metl.states) select cause as x from states", {"metl.state.who"}),
    ],
)
def test_names_are_resolved(query: str, expected: set[str], manifest: Any, owner: Connection) -> None:
    assert origins(rewritten(manifest, owner, query), "dpm") == expected


@pytest.mark.parametrize("model", [*MARTS, "column_sets"])
def test_openlineage(model: str, known: Lineage, owner: Connection) -> None:
    event = json.loads(json.dumps(run_event(known, model, owner.info)))
    assert set(event) == {"eventType", "eventTime", "producer", "schemaURL", "run", "job", "inputs", "outputs"}
    assert event["eventType"] == "COMPLETE"
    assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    assert event["schemaURL"] == "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
    assert set(event["run"]) == {"runId"} and uuid.UUID(event["run"]["runId"])
    assert event["job"] == {"namespace": "metl", "name": f"model.metl.{model}"}
    namespace = f"postgres://{owner.info.host}:{owner.info.port}"
    inputs = [each["name"] for each in event["inputs"]]
    assert {each["namespace"] for each in event["inputs"]} == {namespace}
    assert all(name.startswith(f"{owner.info.dbname}.metl.") for name in inputs)
    assert len(inputs) == len(set(inputs)) > 0
    [output] = event["outputs"]
    schema = "metl_intermediate" if model == "column_sets" else "metl_marts"
    assert (output["namespace"], output["name"]) == (namespace, f"{owner.info.dbname}.{schema}.{model}")
    assert set(output["facets"]) == {"schema", "columnLineage"}
    for facet in output["facets"].values():
        assert facet["_producer"] == event["producer"]
        assert facet["_schemaURL"].startswith("https://openlineage.io/spec/facets/1-")
    fields = output["facets"]["schema"]["fields"]
    assert all(set(each) == {"name", "type", "description"} and all(each.values()) for each in fields)
    lineage = output["facets"]["columnLineage"]["fields"]
    assert list(lineage) == [each["name"] for each in fields]
    for column, found in lineage.items():
        # A constant has no field to come from.
        assert bool(found["inputFields"]) == (f"{model}.{column}" != "progression.change")
        for each in found["inputFields"]:
            assert set(each) == {"namespace", "name", "field", "transformations"}
            assert each["namespace"] == namespace and each["name"] in inputs
            assert each["transformations"] == [{"type": "DIRECT"}]


def metl_lineage(on: Dbt, *words: str) -> Result:
    environment = {"METL_DSN": on.dsn, "METL_HOME": str(on.home.path)}
    return CliRunner().invoke(main, ["marts", "lineage", *words], env=environment)


@pytest.fixture
def compiled_before(manifest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metl.cli.marts.lineage.compiled", lambda home, dsn: manifest)


def test_the_command_compiles_and_says_so(built: Dbt) -> None:
    result = metl_lineage(built, "dpm.attribute")
    assert (result.exit_code, result.stderr) == (0, "Compiling the models, which takes some seconds.\n")
    assert result.stdout.splitlines() == [
        "metl_marts.dpm.attribute",
        "└── metl.decompaction.attribute",
        "    └── metl._ones.attribute",
        "        └── metl.attribute_version.name",
    ]


def test_a_constant_is_shown_with_the_view_that_makes_it(built: Dbt, compiled_before: None) -> None:
    result = metl_lineage(built, "progression.change")
    assert result.stdout.splitlines() == [
        "metl_marts.progression.change",
        "└── metl.progressions.change",
        "    ├── constant 'gained' of metl.progressions",
        "    └── constant 'lost' of metl.progressions",
    ]


def test_a_whole_model_is_a_table(built: Dbt, compiled_before: None) -> None:
    result = metl_lineage(built, "compaction")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[0].split() == ["column", "comes", "from"]
    assert lines[4] == "null_blocks  metl.attribute_version.name, metl.block.version"
    assert len(lines) == 7


def test_json(built: Dbt, compiled_before: None) -> None:
    result = metl_lineage(built, "stg_states.kept", "--json")
    table = {"relation": "metl.state", "column": "summary", "kind": "table", "constant": "", "sources": []}
    view = {"relation": "metl.states", "column": "summary", "kind": "derived", "constant": "", "sources": [table]}
    model = {"relation": "stg_states", "column": "kept", "kind": "derived", "constant": "", "sources": [view]}
    assert json.loads(result.stdout) == {"model": "stg_states", "columns": [model]}


def test_openlineage_from_the_command(built: Dbt, compiled_before: None) -> None:
    event = json.loads(metl_lineage(built, "states", "--openlineage").stdout)
    assert [each["name"].split(".", 1)[1] for each in event["inputs"]] == ["metl.state"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["dmp"], "There is no model 'dmp'. Did you mean 'dpm'"),
        (["nothing"], f"The marts are {', '.join(MARTS)}."),
        (["dpm.atribute"], "Model dpm has no column 'atribute'. Did you mean 'attribute'"),
        (["dpm.attribute.name"], "Model dpm has no column 'attribute.name'."),
        (["stg_states", "--openlineage"], "stg_states is no relation of its own"),
        (
            ["dpm.state", "--openlineage"],
            "OpenLineage describes whole models. Run: metl marts lineage dpm --openlineage",
        ),
    ],
)
def test_a_wrong_word_is_a_sentence(words: list[str], sentence: str, built: Dbt, compiled_before: None) -> None:
    result = metl_lineage(built, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_a_database_without_metl(postgres: str, built: Dbt) -> None:
    with scratch_database(postgres) as name:
        result = metl_lineage(Dbt(make_conninfo(postgres, dbname=name), built.home.path), "dpm")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"Database {name} has no METL in it" in result.stderr and "Run: metl install" in result.stderr
    assert "Traceback" not in result.stderr
