"""What cannot be is a sentence with a way out, and exit code 2."""

import pytest

from tests.steward.conftest import COMMANDS, Run
from tests.unit.test_cli import metl

NO_SCHEMA = "There is no schema 'customer'. Did you mean 'shop.public.customer'?"
NO_ENTITY = "There is no entity 'persn'. Did you mean 'person'?"
SHOP = "shop.public.customer"
REFUSED = {
    "states -n 0": "0 is not in the range x>=1",
    "states -n many": "'many' is not a valid integer",
    "diff 16": "There is no state 16. The states are 0 to 15.",
    "diff 0 99999999999999999999": "There is no state 99999999999999999999. The states are 0 to 15.",
    "diff -16": "There is no state -16. The states are 0 to 15.",
    "diff yesterday": "'yesterday' is not a state. Give a number, previous, or -1 for the same.",
    "diff -x": "'-x' is not a state.",
    "diff 1 2 3": "unexpected extra argument",
    "notices confirm": "Give the states whose notices you have seen, as metl notices shows them, or --all.",
    "notices confirm 7 --all": "Give the states whose notices you have seen",
    "notices confirm 15": "The notices of state 15 are of plans that wait. Decide them: metl plans",
    "notices confirm 3": "State 3 has no open notice. Those that are open: metl notices",
    "notices confirm last": "'last' is not a valid integer",
    "plans confirm": "Missing argument 'PLAN...'",
    "plans confirm first": "'first' is not a valid integer",
    "plans reject 99999999999999999999": "is not in the range",
    "policy --schema shop.public.customer": "Give both, --schema and --entity.",
    "policy --schema customer --entity person": NO_SCHEMA,
    "policy --schema x set auto": "Give --schema and --entity behind set.",
    "policy set never": "'never' is not one of 'auto', 'confirm', 'freeze'",
    "policy set auto --schema customer": NO_SCHEMA,
    "policy set auto --entity persn": NO_ENTITY,
    "schemas customer": NO_SCHEMA,
    "schemas old.table": "Schema 'old.table' has no live version any more.",
    "entities persn": NO_ENTITY,
    "feeds": "Missing argument 'SCHEMA'",
    "feeds customer": NO_SCHEMA,
    f"feeds {SHOP} 4": f"Schema '{SHOP}' has no live version 4. Live are 1, 2, 3.",
    f"feeds {SHOP} last": "'last' is not a version. Give a number from 1, or newest.",
    f"feeds {SHOP} 99999999999": "'99999999999' is not a version.",
    f"feeds {SHOP} --attribute nmae": f"There is no attribute 'nmae' in schema '{SHOP}'. Did you mean 'name'?",
    f"feeds {SHOP} 3 --attribute mail": f"There is no attribute 'mail' in version 3 of schema '{SHOP}'.",
    "fed-by persn": NO_ENTITY,
    "fed-by person --attribute mail": "There is no attribute 'mail' in entity 'person'. Did you mean 'email'?",
    "search": "Missing argument 'TEXT'",
    "coverage persn": NO_ENTITY,
    "progression customer": NO_SCHEMA,
    f"progression {SHOP} persn": NO_ENTITY,
    "block": "Show or change one block",
    "block shwo": "No such command 'shwo'.",
    f"block show {SHOP}": "Missing argument 'VERSION'",
    "block show customer 1 person": NO_SCHEMA,
    f"block show {SHOP} 9 person": f"Schema '{SHOP}' has no live version 9.",
    f"block show {SHOP} 0 person": "'0' is not a version.",
    f"block show {SHOP} 1 persn": NO_ENTITY,
    f"block show {SHOP} 1 person 1": "Entity 'person' has no live version 1. Its live version is 2.",
    f"block set {SHOP} 1 person": "Missing argument",
    f"block set {SHOP} 1 person email": "'email' is not a pair. Give entity_attribute=attribute, such as email=mail.",
    f"block set {SHOP} 1 person emial=mail": "There is no attribute 'emial' in entity 'person'. Did you mean 'email'?",
    f"block set {SHOP} 1 person email=mial": f"There is no attribute 'mial' in version 1 of schema '{SHOP}'. Did you",
    f"block set {SHOP} 1 person email=mail email=name": "'email' is given twice, from 'mail' and from 'name'.",
    f"block set {SHOP} 1 person email=mail phone=mail": "Attribute 'mail' is mapped to 'email' and 'phone'.",
    f"block add {SHOP} 1 person phone=mail": "'mail' maps to 'email' already, and a block is 1:1 both ways. Take it",
    f"block add {SHOP} 1 person email=note": "'mail' maps to 'email' already",
    f"block remove {SHOP} 1 person phone": "Nothing maps to 'phone' of entity 'person' here. Mapped are 'number',",
    f"block remove {SHOP} 1 person fone": "There is no attribute 'fone' in entity 'person'. Did you mean 'phone'?",
    "block clear customer 1 person": NO_SCHEMA,
    "suggest customer": NO_SCHEMA,
    "suggest --version 1": "--version needs a schema: say whose version it is.",
    f"suggest {SHOP} --version 9": f"Schema '{SHOP}' has no live version 9.",
    "suggest --entity persn": NO_ENTITY,
    "suggest --least 2": "2.0 is not in the range",
    "simulate": "Missing argument 'FILE'",
    "simulate /no/such/file": "No such file or directory",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_sentence_and_exit_code_2(look: Run, words: str) -> None:
    result = look(*words.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert REFUSED[words] in result.stderr


def test_every_command_is_refused_something() -> None:
    assert {words.split()[0] for words in REFUSED} == set(COMMANDS)


def test_a_blank_search(look: Run) -> None:
    result = look("search", " ")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Give a part of a name to search for." in result.stderr


def test_a_plan_that_does_not_wait(act: Run) -> None:
    for words, sentence in [
        (("plans", "confirm", "2"), "No plan 2 waits. metl.plans (`metl plans`) lists those that wait."),
        (("plans", "reject", "1"), None),
        (("plans", "confirm", "1"), "No plan 1 waits: it was rejected by metl_test_"),
    ]:
        result = act(*words)
        assert (result.exit_code, sentence or "") == (2 if sentence else 0, sentence or "")
        assert (sentence or "") in result.stderr
        if not sentence:
            assert result.stdout == (
                "Plan 1 was rejected: version 2 of schema shop.public.orders is not added. "
                "Its messages become dead letters.\n"
            )


def test_a_name_that_is_not_text(look: Run) -> None:
    result = look("feeds", "caf\udce9")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'caf\\udce9' is not text." in result.stderr


def test_no_metl_and_no_database(postgres: str) -> None:
    result = metl("schemas", METL_DSN="postgresql://ada:secret@127.0.0.1:1/metl")
    assert result.exit_code == 1
    assert "The database does not answer" in result.stderr
    assert "secret" not in result.output
