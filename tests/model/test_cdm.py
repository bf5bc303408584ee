"""metl entities plan, apply and export, as a steward calls them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.model.conftest import Model, attributes, model_in

BEFORE = """
entity: person
description: Somebody we know
attributes:
  - {name: number, type: integer}
  - {name: mail, type: string}
  - {name: fax, type: string}
  - {name: born, type: string}
  - {name: note, type: string, description: As the clerk wrote it}
"""
AFTER = """
entity: person
description: Somebody we know well
attributes:
  - {name: note, type: string, description: As the clerk meant it, optional: true}
  - {name: number, type: integer}
  - {name: email, type: string, renamed_from: mail}
  - {name: born, type: date}
  - {name: height, type: decimal}
"""


@pytest.fixture
def person(model: Model) -> Model:
    return feed(model)


def feed(model: Model) -> Model:
    """An entity that two versions of one schema feed and one of another."""
    model.apply(BEFORE)
    names = ("id", "mail", "fax", "birthday")
    for schema, version in (("shop", 1), ("shop", 2), ("bank", 7)):
        model.call("add_schema_version", schema, version, attributes(*names))
    mapping = {"number": "id", "mail": "mail", "fax": "fax", "born": "birthday"}
    model.call("set_run", "shop", 1, "person", 1, mapping)
    model.call("set_block", "bank", 7, "person", 1, {"number": "id", "fax": "fax"})
    return model


def planned(model: Model, text: str, *words: str) -> list[dict[str, Any]]:
    found = json.loads(model.said("entities", "plan", "--json", model.file(text), *words))
    return list(found["entities"])


def test_new_entities_are_one_state_each_and_then_nothing_changes(model: Model) -> None:
    text = f"{BEFORE}\n---\nentity: order\nattributes: [{{name: id, type: integer, optional: true}}]"
    shown = model.said("entities", "plan", model.file(text))
    assert "person  new, version 1\n  + number  integer\n  + mail  string\n" in shown
    assert shown.endswith("\n2 new.\n")
    assert model.state() == 0

    said = model.apply(text)
    assert "person  version 1 since state 1; 0 cells lost.\norder  version 1 since state 2; 0 cells lost.\n" in said
    assert model.rows("select entity, version, description from metl.entity_versions order by added") == [
        ("person", 1, "Somebody we know"),
        ("order", 1, None),
    ]
    assert model.rows("select entity_attribute, type, optional from metl.entity_attributes where entity = 'order'") == [
        ("id", "integer", True)
    ]
    assert "Nothing had to be changed.\n" in model.apply(text)
    assert model.said("entities", "plan", "--check", model.file(text)).endswith("2 unchanged.\n")
    assert model.state() == 2


def test_a_next_version_with_its_differences_and_exactly_the_lost_cells(person: Model) -> None:
    [step] = planned(person, AFTER)
    assert (step["outcome"], step["live_version"], step["version"]) == ("next", 1, 2)
    assert step["changes"] == [
        {"change": "described", "was": "Somebody we know", "becomes": "Somebody we know well"},
        {
            "change": "described",
            "attribute": "note",
            "was": "As the clerk wrote it",
            "becomes": "As the clerk meant it",
        },
        {"change": "made optional", "attribute": "note"},
        {"change": "renamed", "attribute": "email", "was": "mail", "becomes": "email"},
        {"change": "retyped", "attribute": "born", "was": "string", "becomes": "date"},
        {"change": "added", "attribute": "height", "becomes": "decimal"},
        {"change": "dropped", "attribute": "fax", "was": "string"},
    ]
    columns = ("schema", "version", "attribute", "entity_attribute", "fate")
    cells = [tuple(cell[column] for column in columns) for cell in step["cells"]]
    assert sorted(cells) == sorted(
        [
            ("bank", 7, "fax", "fax", "lost"),
            ("bank", 7, "id", "number", "kept"),
            *(
                ("shop", version, *cell)
                for version in (1, 2)
                for cell in (
                    ("birthday", "born", "lost"),
                    ("fax", "fax", "lost"),
                    ("id", "number", "kept"),
                    ("mail", "email", "kept"),
                )
            ),
        ]
    )
    assert {cell["reason"] for cell in step["cells"] if cell["entity_attribute"] == "born"} == {"type_changed"}

    shown = person.said("entities", "plan", person.file(AFTER))
    assert "person  version 1 → 2\n" in shown
    for line in ("~ mail → email  renamed", "~ born  string → date", "- fax  string", "+ height  decimal"):
        assert f"\n  {line}\n" in shown
    assert "  5 cells of 3 schema versions go on.\n  5 cells lost:\n" in shown

    before = person.state()
    person.apply(AFTER, "--yes")
    assert person.state() == before + 1
    kept = {cell[:4] for cell in cells if cell[4] == "kept"}
    assert {(schema, version, attribute, target) for schema, version, _, _, attribute, target in person.ones()} == kept
    assert planned(person, AFTER)[0]["outcome"] == "unchanged"


def test_only_what_is_said_matters_not_in_which_order(person: Model) -> None:
    [document] = yaml.safe_load_all(BEFORE)
    document["attributes"].reverse()
    assert planned(person, yaml.safe_dump(document))[0]["outcome"] == "unchanged"


def test_a_rename_may_stay_in_the_file(model: Model) -> None:
    """Through all that comes after it, also when the old name is used again."""

    def apply(*given: tuple[str, str | None], kind: str = "string") -> dict[str, int]:
        members = [{"name": name, "type": kind} | ({"renamed_from": old} if old else {}) for name, old in given]
        text = yaml.safe_dump({"entity": "person", "attributes": members})
        model.apply(text)
        assert planned(model, text)[0]["outcome"] == "unchanged"
        query = "select entity_attribute, entity_attribute_id from metl.entity_attributes where is_live"
        return dict(model.rows(query))

    first = apply(("mail", None), ("a", None), ("b", None))
    renamed = apply(("email", "mail"), ("a", None), ("b", None))
    assert renamed["email"] == first["mail"]
    # An attribute of the old name is another one, and stays one.
    again = apply(("email", "mail"), ("mail", None), ("a", None), ("b", None))
    assert again["email"] == renamed["email"] and again["mail"] not in renamed.values()
    assert apply(("email", "mail"), ("mail", None), ("a", None)) == {
        name: identity for name, identity in again.items() if name != "b"
    }
    # Dropped, it is not taken for what email comes from.
    assert apply(("email", "mail"), ("a", None)) == {"email": again["email"], "a": again["a"]}
    # A name that was away is renamed to anew.
    apply(("mail", None), ("a", None))
    fresh = apply(("mail", None))["mail"]
    assert apply(("email", "mail")) == {"email": fresh}
    # Two may change their names with each other, once.
    two = apply(("x", None), ("y", None))
    assert apply(("x", "y"), ("y", "x")) == {"x": two["y"], "y": two["x"]}
    assert model.rows("select * from metl.check()") == []


def test_losses_have_to_be_meant(person: Model) -> None:
    before = person.state()
    result = person.metl("entities", "apply", "--no-publish", person.file(AFTER))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "5 cells will be lost. Go on? Add --yes to do it; nothing was done." in result.stderr
    assert person.state() == before


@pytest.mark.parametrize(
    ("text", "words", "exit_code"),
    [
        (BEFORE, ["--check"], 0),
        (AFTER, [], 0),
        (AFTER, ["--check"], 3),
        (AFTER, ["--check-losses"], 3),
        (BEFORE.replace("clerk", "boss"), ["--check"], 3),
        (BEFORE.replace("clerk", "boss"), ["--check-losses"], 0),
    ],
)
def test_a_plan_can_be_a_gate(gate: Model, text: str, words: list[str], exit_code: int) -> None:
    assert gate.metl("entities", "plan", gate.file(text), *words).exit_code == exit_code


@pytest.fixture(scope="module")
def gate(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with model_in(postgres, template, tmp_path_factory.mktemp("gate")) as model:
        yield feed(model)


def test_what_only_the_database_has_is_left_alone_unless_it_is_to_go(person: Model) -> None:
    other = "entity: order\nattributes: []"
    assert "person  only in the database, version 1; left alone\n" in person.said(
        "entities", "plan", person.file(other)
    )
    assert "Only in the database, and left alone: person.\n" in person.apply(other)
    result = person.metl("entities", "apply", "--no-publish", "--delete", person.file(other))
    assert result.exit_code == 2 and "10 cells will be lost" in result.stderr
    assert "person  only in the database, version 1; deleted\n  10 cells lost:" in person.said(
        "entities", "plan", "--delete", person.file(other)
    )
    assert "person  version 1 was deleted in state" in person.apply(other, "--delete", "--yes")
    assert person.ones() == []
    # A number is never used again.
    assert planned(person, BEFORE)[0]["version"] == 2


def test_under_policy_confirm_an_update_waits(person: Model) -> None:
    person.call("set_policy", "bank", "person", "confirm")
    text = f"{AFTER}---\nentity: order\nattributes: []"
    assert "person  version 1 → 2, which would wait as a plan\n" in person.said("entities", "plan", person.file(text))
    before = person.state()
    said = person.apply(text)
    assert "person  version 2 would lose 5 cells and waits as plan 1. Decide with: metl plans confirm 1" in said
    assert person.rows("select entity from metl.entity_versions where added > %s", before) == [("order",)]
    # It waits once.
    assert [step["outcome"] for step in planned(person, text)] == ["waits", "unchanged"]
    assert "which waits as plan 1" in person.apply(text)
    assert person.rows("select plan_id, description from metl.plans") == [(1, "Somebody we know well")]
    # Something else cannot overtake it.
    result = person.metl("entities", "apply", "--no-publish", person.file(AFTER.replace("well", "very well")))
    assert result.exit_code == 2
    assert "Nothing was changed. Entity 'person' has another update that waits as plan 1. Decide it" in result.stderr

    person.call("confirm_plan", 1)
    assert [step["outcome"] for step in planned(person, text)] == ["unchanged", "unchanged"]


def test_a_frozen_mapping_stops_everything(person: Model) -> None:
    person.call("set_policy", None, "person", "freeze")
    text = f"entity: order\nattributes: []\n---{AFTER}"
    assert "A mapping to entity 'person' is frozen" in person.said("entities", "plan", person.file(text))
    before = person.state()
    result = person.metl("entities", "apply", "--no-publish", "--yes", person.file(text))
    assert result.exit_code == 2
    assert "Nothing was changed. A mapping to entity 'person' is frozen" in result.stderr
    assert person.state() == before


def test_what_the_matrix_refuses_is_told_with_its_place(person: Model) -> None:
    text = """
entity: person
attributes: [{name: mail, type: string}, {name: e_mail, type: string, renamed_from: mail}]
---
entity: "\\u200b"
attributes: []
---
entity: ../../etc
attributes: []
---
entity: ..
attributes: []
"""
    result = person.metl("entities", "plan", person.file(text))
    assert result.exit_code == 2
    assert "cdm.yaml:2: e_mail and mail of entity 'person' version 2 both continue mail. At most one" in result.stderr
    assert "cdm.yaml:5: The entity must have a name" in result.stderr
    found = json.loads(person.metl("entities", "plan", "--json", person.file(text)).stdout)
    assert [problem["line"] for problem in found["problems"]] == [2, 5, 8, 11]
    assert "cdm.yaml:8: Entity '../../etc' would be taken for a path" in result.stderr


def test_a_plan_warns_of_what_is_not_as_it_seems(gate: Model) -> None:
    text = BEFORE.replace("name: mail", "renamed_from: mial, name: email") + "---\nentity: sales order\nattributes: []"
    shown = gate.said("entities", "plan", gate.file(text))
    assert "  + email  string; there is no 'mial' that it could be renamed from\n" in shown
    assert "  No topic can be named cdm.sales order: its messages would become dead letters.\n" in shown


def test_a_reader_may_plan_and_export_but_not_apply(person: Model) -> None:
    file = person.file(AFTER)
    assert person.metl("entities", "plan", file, dsn=person.reader).exit_code == 0
    assert person.metl("entities", "export", dsn=person.reader).exit_code == 0
    result = person.metl("entities", "apply", "--yes", file, dsn=person.reader)
    assert result.exit_code == 1
    assert " may not change METL in database " in result.stderr and "Grant it metl_steward." in result.stderr


def test_an_export_of_what_sql_made_is_unchanged(model: Model) -> None:
    """Types come as registries name them there, and names may be anything that can be seen."""
    model.call("add_entity_version", "no", 3, [{"name": "1.0", "type": "int32"}, {"name": "on", "type": "varchar(5)"}])
    model.call(
        "add_entity_version", "a\nb: 'c' [bold]", 1, [{"name": "é\u2028", "type": "any", "description": "- x"}], "#"
    )
    model.call("add_entity_version", "empty", 1, [], "")
    folder = str(model.folder / "cdm")
    assert model.said("entities", "export", "--output", folder) == f"3 entities are in {folder}.\n"
    assert model.said("entities", "plan", "--check", folder).endswith("\n3 unchanged.\n")
    assert model.said("entities", "plan", "--check", model.file(model.said("entities", "export"))).endswith(
        "\n3 unchanged.\n"
    )
    assert "[bold]" in model.said("entities", "plan", folder)


def test_what_an_entity_means_is_shown(gate: Model) -> None:
    assert gate.said("entities", "show", "person").startswith("person version 1: Somebody we know\n")
    assert json.loads(gate.said("entities", "show", "person", "--json"))["description"] == "Somebody we know"
