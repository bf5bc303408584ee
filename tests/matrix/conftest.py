"""A database with the trees of tests/matrix/refusal.py, rolled back after every test."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.conftest import scratch_database
from tests.matrix.refusal import TREES, Connection


@pytest.fixture(scope="module")
def loaded(postgres: str, template: str) -> Iterator[Connection]:
    with (
        scratch_database(postgres, template) as name,
        psycopg.connect(make_conninfo(postgres, dbname=name)) as connection,
    ):
        connection.execute(TREES)
        connection.commit()
        yield connection


@pytest.fixture
def connection(loaded: Connection) -> Iterator[Connection]:
    yield loaded
    loaded.rollback()
