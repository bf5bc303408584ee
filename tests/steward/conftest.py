"""The story of tests/steward/story.py, for readers to look at and for stewards to go on with."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest
from click.testing import Result
from psycopg.conninfo import make_conninfo

from metl.util.terminal import UNFOLDED, console
from tests.conftest import scratch_database
from tests.matrix.roles import member
from tests.steward.story import STORY
from tests.unit.test_cli import metl

#: What a steward works with.
COMMANDS = [
    *("matrix states", "matrix diff", "plans notices", "plans acknowledge", "plans list", "plans confirm"),
    *("plans reject", "plans policy set", "matrix schemas", "entities show", "matrix feeds", "matrix fed-by"),
    *("matrix search", "entities coverage", "matrix progression", "matrix block", "matrix simulate", "matrix suggest"),
]

People = dict[str, dict[str, str]]
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def piped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where pytest itself has a terminal."""
    monkeypatch.setattr(console, "width", UNFOLDED)


@pytest.fixture(scope="session")
def people(postgres: str) -> Iterator[People]:
    """Somebody of each role."""
    found: People = {}
    with psycopg.connect(postgres, autocommit=True) as owner, ExitStack() as stack:
        for role in ("metl_reader", "metl_steward"):
            other = stack.enter_context(member(owner, role)).info
            found[role] = {"user": other.user, "password": other.password}
        yield found


@pytest.fixture(scope="session")
def story(postgres: str, template: str) -> Iterator[str]:
    with scratch_database(postgres, template) as name:
        dsn = make_conninfo(postgres, dbname=name)
        with psycopg.connect(dsn) as connection:
            connection.execute(STORY)
        yield dsn


@pytest.fixture(scope="session")
def reader(story: str, people: People) -> str:
    return make_conninfo(story, **people["metl_reader"])


@pytest.fixture
def look(reader: str) -> Run:
    """Runs a command that reads, as a reader."""
    return lambda *words: metl(*words, METL_DSN=reader)


@pytest.fixture
def own(database: str) -> str:
    """The same story once more, to be changed."""
    with psycopg.connect(database) as connection:
        connection.execute(STORY)
    return database


@pytest.fixture
def act(own: str, people: People) -> Run:
    """Runs a command that writes, as a steward."""
    dsn = make_conninfo(own, **people["metl_steward"])
    return lambda *words: metl(*words, METL_DSN=dsn)


@pytest.fixture(scope="session")
def empty(postgres: str, template: str, people: People) -> Iterator[Run]:
    with scratch_database(postgres, template) as name:
        dsn = make_conninfo(postgres, dbname=name, **people["metl_reader"])
        yield lambda *words: metl(*words, METL_DSN=dsn)
