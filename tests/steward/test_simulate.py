"""A gate for the CI of producers: 0 is safe, 1 loses cells, 2 is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from metl.cli import main
from tests.steward.conftest import Run
from tests.unit.test_cli import metl

SHOP = "shop.public.customer"
SAFE = [
    {"name": "id", "type": "int64"},
    {"name": "full_name", "type": "string", "renamed_from": "name"},
    {"name": "new", "type": "json"},
]
LOSING = [{"name": "id", "type": "string"}]


def draft(folder: Path, content: Any) -> str:
    file = folder / "draft.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(file)


def test_a_safe_draft(look: Run, tmp_path: Path) -> None:
    result = look("matrix", "simulate", draft(tmp_path, SAFE), "--schema", SHOP)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"Safe: version 4 of {SHOP} would lose no mapping.\n"
    found = json.loads(look("matrix", "simulate", draft(tmp_path, SAFE), "--schema", SHOP, "--json").stdout)
    assert found == {"schema": SHOP, "version": 4, "safe": True, "entities": [], "lost": [], "likely_renames": []}


def test_a_draft_that_loses_cells(look: Run, tmp_path: Path) -> None:
    result = look("matrix", "simulate", draft(tmp_path, LOSING), "--schema", SHOP)
    assert (result.exit_code, result.stderr) == (3, "")
    assert (
        result.stdout
        == f"""\
Version 4 of {SHOP} would lose 2 cells of person:
{SHOP} version 4 → person version 2
  - name → full_name
  - id → number (its type changed)
What goes on under another name keeps its cells if it says so: aliases in Avro, x-renamed-from elsewhere.
"""
    )
    again = look("matrix", "simulate", draft(tmp_path, LOSING), "--schema", SHOP, "--json")
    assert again.exit_code == 3
    found = json.loads(again.stdout)
    assert (found["safe"], found["entities"]) == (False, ["person"])
    assert [(cell["entity_attribute"], cell["reason"]) for cell in found["lost"]] == [
        ("full_name", "dropped"),
        ("number", "type_changed"),
    ]


def test_what_looks_like_a_rename(look: Run, tmp_path: Path) -> None:
    renamed = [{"name": "id", "type": "int64"}, {"name": "fullName", "type": "string"}, {"name": "dob", "type": "date"}]
    result = look("matrix", "simulate", draft(tmp_path, renamed), "--schema", SHOP)
    assert result.exit_code == 3
    assert "  - name → full_name\nIt looks like name → fullName (0.82).\nWhat goes on under" in result.stdout
    # As registries have it, with all its former names.
    listed = [*renamed, {"name": "mobile", "type": "string", "renamed_from": ["phone", "tel"]}]
    found = json.loads(look("matrix", "simulate", draft(tmp_path, listed), "--schema", SHOP, "--json").stdout)
    assert found["likely_renames"] == [{"attribute": "name", "renamed_to": "fullName", "score": 0.82}]


def connect(*fields: dict[str, Any], name: str = f"{SHOP}.Value") -> dict[str, Any]:
    return {"type": "struct", "name": name, "fields": list(fields)}


def envelope(row: dict[str, Any]) -> dict[str, Any]:
    parts = [{**row, "field": "before"}, {**row, "field": "after"}, {"type": "string", "field": "op"}]
    return connect(*parts, name=f"{SHOP}.Envelope")


ID, NAME = {"field": "id", "type": "int64"}, {"field": "name", "type": "string", "optional": True}
RENAMED = {"field": "called", "type": "string", "parameters": {"x-renamed-from": "name"}}
#: The same in each: all goes on, one under another name, one is dropped.
FORMATS: dict[str, list[Any]] = {
    "connect": [connect(ID, NAME), connect(ID, RENAMED), connect(ID)],
    "envelope": [envelope(connect(ID, NAME)), envelope(connect(ID, RENAMED)), envelope(connect(ID))],
    "inline": [{"schema": connect(ID, *fields), "payload": {}} for fields in ([NAME], [RENAMED], [])],
    "avro": [
        {
            "type": "record",
            "namespace": SHOP,
            "name": "Value",
            "fields": [{"name": "id", "type": ["null", "long"]}, *fields],
        }
        for fields in (
            [{"name": "name", "type": "string"}],
            [{"name": "called", "type": "string", "aliases": ["title", "name"]}],
            [],
        )
    ],
    "json schema": [
        {"$id": f"https://example.org/{SHOP}.json", "properties": {"id": {"type": "integer"}, **properties}}
        for properties in (
            {"name": {"type": "string"}},
            {"called": {"type": ["string", "null"], "x-renamed-from": ["title", "name"]}},
            {},
        )
    ],
}


@pytest.mark.parametrize("form", FORMATS)
def test_drafts_in_the_words_of_registries_name_their_schema(look: Run, tmp_path: Path, form: str) -> None:
    for content, exit_code, lost in zip(FORMATS[form], (0, 0, 3), ([], [], ["full_name"]), strict=True):
        result = look("matrix", "simulate", draft(tmp_path, content), "--json")
        assert (result.exit_code, result.stderr) == (exit_code, "")
        found = json.loads(result.stdout)
        assert (found["schema"], [cell["entity_attribute"] for cell in found["lost"]]) == (SHOP, lost)


def test_a_draft_from_stdin(reader: str) -> None:
    words = ["matrix", "simulate", "-", "--schema", SHOP]
    result = CliRunner().invoke(main, words, input=json.dumps(LOSING), env={"METL_DSN": reader})
    assert result.exit_code == 3
    assert "would lose 2 cells of person" in result.stdout


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        (SAFE, [], "The draft does not say whose next version it is. Say so with --schema."),
        (SAFE, ["--schema", "customer"], f"There is no schema 'customer'. Did you mean '{SHOP}'?"),
        (SAFE, ["--schema", "old.table"], "Schema 'old.table' has no live version any more."),
        ("", ["--schema", SHOP], "draft.json is not JSON: Expecting value in line 1, column 1."),
        ('[{"name": "id",\n "type" "int32"}]', ["--schema", SHOP], "in line 2, column 9."),
        ("[" * 100_000, ["--schema", SHOP], "draft.json is nested too deeply."),
        ("true", ["--schema", SHOP], "draft.json is not that of an object with properties."),
        ({"type": "struct", "name": SHOP}, [], "draft.json is a struct of Kafka Connect without fields."),
        (
            {"type": "record", "name": "customer", "fields": []},
            [],
            "The draft calls itself 'customer', which no schema",
        ),
        ([1], ["--schema", SHOP], f"Attribute 1 of schema '{SHOP}' version 4 is not an object: 1"),
        ([{"name": "id"}], ["--schema", SHOP], "Attribute id of schema"),
        ([{"name": "id", "type": "int31"}], ["--schema", SHOP], "has the unknown type int31."),
        ([{"name": "a", "type": "text"}] * 2, ["--schema", SHOP], "has two attributes named a."),
        ([{"name": "a\0", "type": "text"}], ["--schema", SHOP], "draft.json cannot be read: "),
    ],
)
def test_what_is_wrong_is_exit_code_2(
    look: Run, tmp_path: Path, content: Any, options: list[str], sentence: str
) -> None:
    result = look("matrix", "simulate", draft(tmp_path, content), *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_a_draft_that_is_not_text(look: Run, tmp_path: Path) -> None:
    (tmp_path / "draft.json").write_bytes(b"[\xff]")
    result = look("matrix", "simulate", str(tmp_path / "draft.json"), "--schema", SHOP)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "draft.json is not text in UTF-8." in result.stderr


def test_a_database_that_does_not_answer_prints_nothing_to_stdout(tmp_path: Path) -> None:
    result = metl(
        "matrix", "simulate", draft(tmp_path, SAFE), "--schema", SHOP, METL_DSN="postgresql://127.0.0.1:1/metl"
    )
    assert (result.exit_code, result.stdout) == (1, "")
