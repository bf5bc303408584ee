"""metl dead-letters give-up: by filters only pending letters, by number any."""

import json
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.types.json import Jsonb

from metl.cli import main


@pytest.fixture
def letters(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Three of one topic: 1 is pending, 2 was replayed, 3 was given up."""
    monkeypatch.setenv("METL_DSN", database)
    with psycopg.connect(database) as connection:
        records: list[dict[str, Any]] = [
            {
                "partition": 0, "offset": offset, "at": "2026-01-01", "key": None, "value": "YQ==", "headers": [],
                "error_headers": {"__connect.errors.topic": "shop"},
            }
            for offset in range(3)
        ]  # fmt: skip
        connection.execute("select metl.collect_letters('dead', %s, '{\"0\": 3}')", [Jsonb(records)])
        connection.execute("select metl.begin_operation('replay', 'a test')")
        connection.execute("select * from metl.send_letters('{2}', 1)")
        connection.execute("select metl.give_up_letters('{3}', 'a test')")
    return database


def give_up(*words: str) -> Result:
    return CliRunner().invoke(main, ["dead-letters", "give-up", *words, "--why", "hopeless", "--yes", "--json"])


def statuses(dsn: str) -> dict[int, str]:
    with psycopg.connect(dsn) as connection:
        return dict(connection.execute("select letter, status from metl.dead_letters").fetchall())


def answer(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    output: dict[str, Any] = json.loads(result.stdout)
    return output


def test_filters_select_only_pending_letters(letters: str) -> None:
    """A replayed letter may have been mapped, and given up would mean that it was not."""
    assert answer(give_up("--topics", "shop"))["given_up"] == 1
    assert statuses(letters) == {1: "given_up", 2: "sent", 3: "given_up"}
    with psycopg.connect(letters) as connection:
        assert connection.execute("select operation from metl.dead_letters where letter = 2").fetchone() == (1,)
    nothing = give_up("--topics", "shop")
    assert nothing.exit_code == 2 and "None of these 3 dead letters waits" in str(nothing.stderr)


def test_a_number_selects_a_letter_of_any_status(letters: str) -> None:
    assert answer(give_up("2"))["given_up"] == 1
    assert statuses(letters) == {1: "dead", 2: "given_up", 3: "given_up"}
