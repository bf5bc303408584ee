"""metl matrix suggest, from the matrix to a command that can be run."""

import json
import shlex

from tests.steward.conftest import Run
from tests.steward.test_looking import lines, read


def test_suggestions_for_every_schema(look: Run) -> None:
    assert lines(look("matrix", "suggest")) == [
        "schema attribute might be score note",
        "crm.contact 1 eMail person.email 1.00 mapped so by 1 schema",
        "shop.public.customer 3 mobile person.phone 1.00 mapped so by 1 schema",
        "crm.contact 1 contactNo person.number 0.94 -",
        " order.number 0.84 -",
        "shop.public.customer 3 dob person.birth_date 0.94 -",
        "shop.public.orders 1 customer_id order.customer_number 0.94 -",
        "The best of each, if they are right:",
        " metl matrix block add crm.contact 1 person email=eMail number=contactNo",
        " metl matrix block add shop.public.customer 3 person phone=mobile birth_date=dob",
        " metl matrix block add shop.public.orders 1 order customer_number=customer_id",
    ]


def test_suggestions_for_one_version(look: Run) -> None:
    found = read(look("matrix", "suggest", "shop.public.customer", "1", "--json"))
    assert [(each["version"], each["attribute"], each["suggestions"]) for each in found] == [(1, "note", [])]
    assert lines(look("matrix", "suggest", "shop.public.customer", "1")) == [
        "Nothing is like 1 attribute: see what is less so with --least 0.3"
    ]
    assert lines(look("matrix", "suggest", "shop.public.customer", "2")) == [
        "Every attribute of shop.public.customer is mapped."
    ]


def test_for_one_entity_also_what_others_have_already(look: Run) -> None:
    found = read(look("matrix", "suggest", "shop.public.customer", "--entity", "order", "--least", "0.4", "--json"))
    assert [each["attribute"] for each in found] == ["id", "name", "dob", "mobile"]
    places = {place["entity"] for each in found for place in each["suggestions"]}
    assert places == {"order"}


def test_so_many_for_each_and_none_that_is_taken(look: Run) -> None:
    few = read(look("matrix", "suggest", "-n", "1", "--least", "0", "--json"))
    assert all(len(each["suggestions"]) == 1 for each in few)
    every = read(look("matrix", "suggest", "--least", "0", "-n", "99", "--json"))
    [contact] = [each for each in every if each["attribute"] == "contactNo"]
    assert ("person", "phone") not in {(each["entity"], each["entity_attribute"]) for each in contact["suggestions"]}


def test_what_is_printed_can_be_run(act: Run) -> None:
    commands = [
        shlex.split(line)[1:] for line in act("matrix", "suggest").stdout.splitlines() if line.startswith("  metl ")
    ]
    assert len(commands) == 3
    for words in commands:
        assert act(*words).exit_code == 0
    assert act("matrix", "suggest").stdout == "Every attribute of every schema is mapped.\n"
    assert json.loads(act("matrix", "suggest", "--json").stdout) == []
