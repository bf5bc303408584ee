"""A collector of an earlier release, whose letters lack error_headers, is refused before it loses their reasons."""

import psycopg
import pytest
from psycopg.types.json import Jsonb


def test_letters_without_error_headers_are_refused(database: str) -> None:
    letter = {"partition": 0, "offset": 0, "at": "2026-01-01", "key": None, "value": "YQ==", "headers": [], "said": {}}
    with psycopg.connect(database, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="older than this database") as refused:
            connection.execute("select metl.collect_letters('dead', %s, '{\"0\": 1}')", [Jsonb([letter])])
        assert "metl dead-letters collect" in str(refused.value.diag.message_hint)
        assert connection.execute("select from metl.dead_positions").fetchall() == []
