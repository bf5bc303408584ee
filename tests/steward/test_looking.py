"""What a reader sees, as text and as JSON."""

import json
import re
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import Result

from metl.cli import main
from tests.steward.conftest import COMMANDS, Run
from tests.unit.test_cli import metl

WHEN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def lines(result: Result) -> list[str]:
    """Without what differs each time, and with single spaces."""
    assert (result.exit_code, result.stderr) == (0, "")
    return [re.sub(" +", " ", WHEN.sub("WHEN", line)).rstrip() for line in result.stdout.splitlines()]


def read(result: Result) -> Any:
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def leaves(command: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Everything that can be run."""
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield words, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from leaves(inner, *words, name)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_speaks_json_and_has_an_example(name: str) -> None:
    top: click.Command | None = main
    for word in name.split():
        assert isinstance(top, click.Group)
        top = top.get_command(click.Context(top), word)
    assert top is not None
    for words, command in leaves(top, *name.split()):
        assert "--json" in [option for param in command.params for option in param.opts], words
        text = metl(*words, "--help").stdout
        assert f"  metl {' '.join(words)}" in text
        # Examples are not folded.
        assert all(len(line) <= 80 for line in text.splitlines()), words


def test_states_newest_first(look: Run) -> None:
    found = lines(look("matrix", "states", "-n", "9"))
    assert [line.split(" metl_owner")[0] for line in found] == [
        "state change of cells by at",
        "15 schema deleted old.table 1 -",
        "14 schema added old.table 1 -",
        "13 entity added product 1 -",
        "12 block set crm.contact 1 → person 2 +1",
        "11 schema added crm.contact 1 -",
        "10 block set shop.public.orders 1 → order 1 +3",
        "9 schema added shop.public.orders 1 -",
        "8 entity added order 1 -",
        "7 schema added shop.public.customer 3 -1",
    ]
    assert found[1].endswith(" WHEN")
    states = read(look("matrix", "states", "--json"))
    assert [state["state"] for state in states] == list(range(15, 0, -1))
    assert states[8]["summary"] == {"schema": "shop.public.customer", "version": 3, "kept": 2, "lost": 1, "gained": 0}


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ([], 14, 15),
        (["-1"], 14, 15),
        (["3"], 3, 15),
        (["3", "7"], 3, 7),
        (["-12", "-8"], 3, 7),
        (["7", "3"], 7, 3),
        (["0"], 0, 15),
        (["previous", "current"], 14, 15),
    ],
)
def test_which_states_a_diff_is_between(look: Run, words: list[str], first: int, last: int) -> None:
    found = read(look("matrix", "diff", "--json", *words))
    assert (found["before"], found["after"]) == (first, last)
    assert lines(look("matrix", "diff", *words))[0].startswith(f"From state {first} to state {last} the matrix ")


def test_a_diff_block_by_block(look: Run) -> None:
    assert lines(look("matrix", "diff", "3", "7")) == [
        "From state 3 to state 7 the matrix gained 8 cells and lost 2 cells.",
        "shop.public.customer version 1 → person version 1",
        " - name → name",
        " - id → number",
        "shop.public.customer version 1 → person version 2",
        " + mail → email",
        " + name → full_name",
        " + id → number",
        "shop.public.customer version 2 → person version 2",
        " + e_mail → email",
        " + name → full_name",
        " + id → number",
        "shop.public.customer version 3 → person version 2",
        " + name → full_name",
        " + id → number",
    ]
    cells = read(look("matrix", "diff", "--json", "10", "12"))["cells"]
    assert cells == [
        {
            "change": "gained",
            "schema": "crm.contact",
            "version": 1,
            "entity": "person",
            "entity_version": 2,
            "attribute": "mobile",
            "entity_attribute": "phone",
        }
    ]
    assert lines(look("matrix", "diff")) == ["From state 14 to state 15 the matrix changed no cell."]


def test_versions_with_the_same_change_share_their_lines(look: Run) -> None:
    """Both versions of a run lose the same cells under the same names."""
    found = lines(look("matrix", "diff", "current", "0"))
    assert "shop.public.orders version 1 → order version 1" in found
    assert lines(look("matrix", "feeds", "shop.public.customer"))[1:3] == [
        "id integer 1-3 person.number",
        "name string 1-3 person.full_name",
    ]


def test_open_notices_and_all(look: Run) -> None:
    found = lines(look("plans", "notices"))
    assert found[:3] == [
        "state kind block cells since",
        "15 waiting shop.public.orders 2 → order 1 total → amount, created → ordered_at WHEN",
        "7 shrunk shop.public.customer 3 → person 2 e_mail → email WHEN",
    ]
    assert found[-1] == "When you have seen them: metl plans acknowledge 7"
    assert [each["kind"] for each in read(look("plans", "notices", "--json"))] == ["waiting", "shrunk"]
    every = read(look("plans", "notices", "--all", "--json"))
    assert [each["kind"] for each in every] == ["waiting", "shrunk", "unchanged", "unchanged"]
    assert "6 unchanged shop.public.customer 2 → person 2 - WHEN" in lines(look("plans", "notices", "--all"))


def test_plans_with_the_cells_they_would_lose(look: Run) -> None:
    found = lines(look("plans", "list"))
    assert found[:4] == [
        "Plan 1: version 2 of schema shop.public.orders would lose 2 cells.",
        "shop.public.orders version 2 → order",
        " - total → amount",
        " - created → ordered_at",
    ]
    assert found[-1] == "Decide with: metl plans confirm 1, or metl plans reject 1"
    [plan] = read(look("plans", "list", "--json"))
    assert {cell["attribute"] for cell in plan["lost"]} == {"total", "created"}


def test_policies_and_the_one_in_force(look: Run) -> None:
    assert lines(look("plans", "policy", "list"))[1].startswith("shop.public.orders order confirm ")
    assert [each["policy"] for each in read(look("plans", "policy", "list", "--json"))] == ["confirm"]
    assert lines(look("plans", "policy", "show", "--schema", "shop.public.orders", "--entity", "person")) == [
        "Schema shop.public.orders → entity person: auto. Updates happen, and losses leave a notice."
    ]
    found = read(look("plans", "policy", "show", "--schema", "shop.public.orders", "--entity", "order", "--json"))
    assert found["policy"] == "confirm"


def test_schemas(look: Run) -> None:
    assert lines(look("matrix", "schemas")) == [
        "schema versions attributes mapped feeds",
        "crm.contact 1 3 1 person",
        "shop.public.customer 1-3 4 2 person",
        "shop.public.orders 1 4 3 order",
        "3 schemas. Attributes and mappings are those of the newest version.",
    ]
    assert [each["schema"] for each in read(look("matrix", "schemas", "--json"))] == [
        "crm.contact",
        "shop.public.customer",
        "shop.public.orders",
    ]


def test_a_schema_through_its_versions(look: Run) -> None:
    assert lines(look("matrix", "schemas", "shop.public.customer")) == [
        "attribute 1 2 3",
        "id int32 int64 int64",
        "name string string string",
        "dob · · date",
        "mobile · · string",
        "e_mail mail: string string ·",
        "note string · ·",
        "",
        "version since state messages name it by",
        "1 2 global_id 17",
        "2 6 content_id 3, content_id 8, global_id 18",
        "3 7 -",
    ]
    found = read(look("matrix", "schemas", "shop.public.customer", "--json"))
    assert [version["version"] for version in found["versions"]] == [1, 2, 3]
    assert [each["attribute"] for each in found["versions"][1]["attributes"]] == ["id", "name", "e_mail"]
    assert found["versions"][0]["refs"] == [{"kind": "global_id", "ref": "17"}]


def test_entities(look: Run) -> None:
    assert lines(look("entities", "list")) == [
        "entity version attributes fed by",
        "order 1 5 shop.public.orders",
        "person 2 5 crm.contact, shop.public.customer",
        "product 1 1 -",
    ]
    assert lines(look("entities", "show", "person"))[2:5] == [
        "number integer - version 1 Number under which the person is known",
        "full_name string - version 1 Name as the person writes it",
        "email string - version 2 -",
    ]
    assert read(look("entities", "list", "--json"))[1]["schemas"] == ["crm.contact", "shop.public.customer"]
    assert read(look("entities", "show", "person", "--json"))["attributes"][3]["optional"] is True


def test_what_a_schema_feeds(look: Run) -> None:
    assert lines(look("matrix", "feeds", "shop.public.customer")) == [
        "attribute type versions maps to",
        "id integer 1-3 person.number",
        "name string 1-3 person.full_name",
        "dob date 3 -",
        "mobile string 3 -",
        "e_mail string 2 person.email",
        "mail string 1 person.email",
        "note string 1 -",
    ]
    assert lines(look("matrix", "feeds", "shop.public.customer", "2"))[-1] == "e_mail string 2 person.email"
    newest = read(look("matrix", "feeds", "shop.public.customer", "newest", "--json"))
    assert [(each["version"], each["attribute"], each["entity_attribute"]) for each in newest] == [
        (3, "id", "number"),
        (3, "name", "full_name"),
        (3, "dob", None),
        (3, "mobile", None),
    ]
    assert lines(look("matrix", "feeds", "shop.public.customer", "--attribute", "mail"))[1:] == [
        "mail string 1 person.email"
    ]


def test_what_feeds_an_entity(look: Run) -> None:
    assert lines(look("matrix", "fed-by", "person")) == [
        "entity attribute type schema versions attribute",
        "number integer shop.public.customer 1-3 id",
        "full_name string shop.public.customer 1-3 name",
        "email string shop.public.customer 1 mail",
        "email string shop.public.customer 2 e_mail",
        "phone string crm.contact 1 mobile",
        "birth_date date - - -",
    ]
    found = read(look("matrix", "fed-by", "person", "--attribute", "email", "--json"))
    assert [(each["version"], each["attribute"]) for each in found] == [(1, "mail"), (2, "e_mail")]


def test_search_by_a_part_of_a_name(look: Run) -> None:
    assert lines(look("matrix", "search", "MAIL")) == [
        "found name versions maps to, or is fed by",
        "attribute shop.public.customer.mail 1 person.email",
        "attribute crm.contact.eMail 1 -",
        "attribute shop.public.customer.e_mail 2 person.email",
        "entity attribute person.email 2 shop.public.customer.e_mail, shop.public.customer.mail",
    ]
    assert lines(look("matrix", "search", "order"))[1:4] == [
        "entity order 1 shop.public.orders",
        "attribute shop.public.orders.order_id 1 order.number",
        "entity attribute order.ordered_at 1 shop.public.orders.created",
    ]
    assert lines(look("matrix", "search", "e", "-n", "2"))[-1].startswith("These are the first 2 of 2")
    assert {each["found"] for each in read(look("matrix", "search", "order", "--json"))} == {
        "schema",
        "attribute",
        "entity",
        "entity_attribute",
    }
    assert lines(look("matrix", "search", "%"))[0].startswith("Nothing has '%' in its name.")


def test_coverage(look: Run) -> None:
    assert lines(look("entities", "coverage")) == [
        "entity version attributes with a source share schemas",
        "order 1 5 3 60% 1",
        "person 2 5 3 60% 2",
        "product 1 1 0 0% 0",
        "in all - 11 6 55% 3",
    ]
    assert lines(look("entities", "coverage", "person"))[3:] == [
        # What only older versions feed has no source today.
        "email string 0 -",
        "phone string 1 crm.contact",
        "birth_date date 0 -",
        "email: keep; not fed by shop.public.customer since version 3, state 7.",
    ]
    assert len(read(look("entities", "coverage", "--json"))) == 11
    assert [each["sources"] for each in read(look("entities", "coverage", "person", "--json"))] == [
        1,
        1,
        0,
        1,
        0,
    ]
    assert read(look("entities", "coverage", "person", "--json"))[2]["all_schemas"] == ["shop.public.customer"]


def test_progression(look: Run) -> None:
    assert lines(look("matrix", "progression", "shop.public.customer")) == [
        "version 1",
        " + mail → person.email",
        " + name → person.full_name",
        " + id → person.number",
        "version 3",
        " - e_mail → person.email",
        "Version 2 changed nothing.",
    ]
    assert lines(look("matrix", "progression", "shop.public.customer", "order"))[0].startswith("No version of")
    found = read(look("matrix", "progression", "shop.public.customer", "person", "--json"))
    assert [(each["version"], each["change"]) for each in found] == [(1, "gained")] * 3 + [(3, "lost")]


def test_a_block_as_a_small_matrix(look: Run) -> None:
    result = look("matrix", "block", "show", "shop.public.customer", "2", "person")
    assert (
        result.stdout
        == """\
shop.public.customer version 2 → person version 2
            id
            │ name
            │ │ e_mail
number      1 · ·
full_name   · 1 ·
email       · · 1
phone       · · ·
birth_date  · · ·
Without a source: phone, birth_date
The same for versions 1-2. Policy: auto.
"""
    )
    found = read(look("matrix", "block", "show", "shop.public.customer", "newest", "person", "2", "--json"))
    assert found["mapping"] == {"number": "id", "full_name": "name"}
    assert (found["version"], found["run"]) == (3, [3])
    assert found["unmapped_attributes"] == ["dob", "mobile"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("matrix states", "Nothing was ever changed here: this is state 0."),
        ("matrix diff", "From state 0 to state 0 the matrix changed no cell."),
        ("plans notices", "No notice is open."),
        ("plans notices --all", "There never was a notice."),
        ("plans list", "No plan waits. See older ones with: metl plans list --all"),
        ("plans list --all", "No update ever waited."),
        ("plans policy list", "No policy was set, so that all is auto"),
        ("matrix schemas", "There is no schema yet. Take them"),
        ("entities list", "There is no entity yet. Add"),
        ("matrix search x", "Nothing has 'x' in its name."),
        ("entities coverage", "There is no entity with attributes yet. Add"),
        ("matrix suggest", "There is no entity with attributes yet. Add"),
    ],
)
def test_where_nothing_is_a_sentence_says_so(empty: Run, words: str, sentence: str) -> None:
    result = empty(*words.split())
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(sentence)
    assert read(empty(*words.split(), "--json")) in ([], {"before": 0, "after": 0, "cells": []})
