"""What cannot be is a sentence with a way out, and exit code 2."""

import pytest

from tests.steward.conftest import COMMANDS, Run
from tests.unit.test_cli import metl

NO_SCHEMA = "There is no schema 'customer'. Did you mean 'shop.public.customer'?"
NO_ENTITY = "There is no entity 'persn'. Did you mean 'person'?"
SHOP = "shop.public.customer"
REFUSED = {
    "matrix states -n 0": "0 is not in the range x>=1",
    "matrix states -n many": "'many' is not a valid integer",
    "matrix diff 16": "There is no state 16. The states are 0 to 15.",
    "matrix diff 0 999999999999999999": "There is no state 999999999999999999. The states are 0 to 15.",
    "matrix diff -16": "There is no state -16. The states are 0 to 15.",
    "matrix diff yesterday": "'yesterday' is not a state. Give a number, previous, or -1 for the same.",
    "matrix diff -x": "'-x' is not a state.",
    "matrix diff 1 2 3": "unexpected extra argument",
    "plans acknowledge": "Give the states whose notices you have seen, as metl plans notices shows them, or --all.",
    "plans acknowledge 7 --all": "Give the states whose notices you have seen",
    "plans acknowledge 15": "The notices of state 15 are of plans that wait. Decide them: metl plans list",
    "plans acknowledge 3": "State 3 has no open notice. Those that are open: metl plans notices",
    "plans acknowledge last": "'last' is not a valid integer",
    "plans confirm": "Missing argument 'PLAN...'",
    "plans confirm first": "'first' is not a valid integer",
    "plans reject 99999999999999999999": "is not in the range",
    "plans policy show --schema shop.public.customer": "Missing option '--entity'",
    "plans policy show --schema customer --entity person": NO_SCHEMA,
    "plans policy set never": "'never' is not one of 'auto', 'confirm', 'freeze'",
    "plans policy set auto --schema customer": NO_SCHEMA,
    "plans policy set auto --entity persn": NO_ENTITY,
    "matrix schemas customer": NO_SCHEMA,
    "matrix schemas old.table": "Schema 'old.table' has no live version any more.",
    "entities show persn": NO_ENTITY,
    "matrix feeds": "Missing argument 'SCHEMA'",
    "matrix feeds customer": NO_SCHEMA,
    f"matrix feeds {SHOP} 4": f"Schema '{SHOP}' has no live version 4. Live are 1, 2, 3.",
    f"matrix feeds {SHOP} last": "'last' is not a version. Give a number from 1, or newest.",
    f"matrix feeds {SHOP} 99999999999": "'99999999999' is not a version.",
    f"matrix feeds {SHOP} --attribute nmae": f"There is no attribute 'nmae' in schema '{SHOP}'. Did you mean 'name'?",
    f"matrix feeds {SHOP} 3 --attribute mail": f"There is no attribute 'mail' in version 3 of schema '{SHOP}'.",
    "matrix fed-by persn": NO_ENTITY,
    "matrix fed-by person --attribute mail": "There is no attribute 'mail' in entity 'person'. Did you mean 'email'?",
    "matrix search": "Missing argument 'TEXT'",
    "entities coverage persn": NO_ENTITY,
    "matrix progression customer": NO_SCHEMA,
    f"matrix progression {SHOP} persn": NO_ENTITY,
    "matrix block": "Show or change one block",
    "matrix block shwo": "No such command 'shwo'.",
    f"matrix block show {SHOP}": "Missing argument 'VERSION'",
    "matrix block show customer 1 person": NO_SCHEMA,
    f"matrix block show {SHOP} 9 person": f"Schema '{SHOP}' has no live version 9.",
    f"matrix block show {SHOP} 0 person": "'0' is not a version.",
    f"matrix block show {SHOP} 1 persn": NO_ENTITY,
    f"matrix block show {SHOP} 1 person 1": "Entity 'person' has no live version 1. Its live version is 2.",
    f"matrix block set {SHOP} 1 person": "Missing argument",
    f"matrix block set {SHOP} 1 person email": "'email' is not a pair. Give entity_attribute=attribute, such as",
    f"matrix block set {SHOP} 1 person emial=mail": "There is no attribute 'emial' in entity 'person'. Did you mean",
    f"matrix block set {SHOP} 1 person email=mial": f"There is no attribute 'mial' in version 1 of schema '{SHOP}'.",
    f"matrix block set {SHOP} 1 person email=mail email=name": "'email' is given twice, from 'mail' and from 'name'.",
    f"matrix block set {SHOP} 1 person email=mail phone=mail": "Attribute 'mail' is mapped to 'email' and 'phone'.",
    f"matrix block add {SHOP} 1 person phone=mail": "'mail' maps to 'email' already, and a block is 1:1 both ways.",
    f"matrix block add {SHOP} 1 person email=note": "'mail' maps to 'email' already",
    f"matrix block remove {SHOP} 1 person phone": "Nothing maps to 'phone' of entity 'person' here. Mapped are",
    f"matrix block remove {SHOP} 1 person fone": "There is no attribute 'fone' in entity 'person'. Did you mean",
    "matrix block clear customer 1 person": NO_SCHEMA,
    "matrix suggest customer": NO_SCHEMA,
    f"matrix suggest {SHOP} 9": f"Schema '{SHOP}' has no live version 9.",
    "matrix suggest --entity persn": NO_ENTITY,
    "matrix suggest --least 2": "2.0 is not in the range",
    "matrix simulate": "Missing argument 'FILE'",
    "matrix simulate /no/such/file": "No such file or directory",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_sentence_and_exit_code_2(look: Run, words: str) -> None:
    result = look(*words.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert REFUSED[words] in result.stderr


def test_every_command_is_refused_something() -> None:
    without_arguments = {"plans list", "plans notices", "plans confirm", "plans reject"}
    for command in set(COMMANDS) - without_arguments:
        assert any(words.startswith(command) for words in REFUSED), command


def test_a_blank_search(look: Run) -> None:
    result = look("matrix", "search", " ")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Give a part of a name to search for." in result.stderr


def test_a_plan_that_does_not_wait(act: Run) -> None:
    for words, sentence in [
        (("plans", "confirm", "2"), "No plan 2 waits. metl.plans (`metl plans list`) lists those that wait."),
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
    result = look("matrix", "feeds", "caf\udce9")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'caf\\udce9' is not text." in result.stderr


def test_no_metl_and_no_database(postgres: str) -> None:
    result = metl("matrix", "schemas", METL_DSN="postgresql://ada:secret@127.0.0.1:1/metl")
    assert result.exit_code == 1
    assert "The database does not answer" in result.stderr
    assert "secret" not in result.output
