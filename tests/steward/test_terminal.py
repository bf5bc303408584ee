"""What fits into 80 columns, and what a pipe gets."""

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from fcntl import ioctl

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb
from rich.cells import cell_len

from metl.util.terminal import console
from tests.conftest import scratch_database
from tests.steward.conftest import People, Run
from tests.unit.test_cli import metl

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
WIDE = "shop.public.customer_with_a_long_name"
COMMANDS = [
    "--help",
    "matrix states",
    "matrix diff 0",
    "plans notices",
    "plans list",
    "plans policy list",
    "matrix schemas",
    f"matrix schemas {WIDE}",
    "entities list",
    "entities show wide",
    f"matrix feeds {WIDE}",
    "matrix fed-by wide",
    "matrix search attribute",
    "entities coverage",
    "entities coverage wide",
    f"matrix progression {WIDE}",
    f"matrix block show {WIDE} newest wide",
    "matrix suggest -n 2",
]


def attributes(*names: str) -> Jsonb:
    return Jsonb([{"name": name, "type": "string"} for name in names])


@pytest.fixture(scope="module")
def wide(postgres: str, template: str, people: People) -> Iterator[str]:
    """Many attributes with long names, in many versions, mapped to many."""
    with scratch_database(postgres, template) as name:
        dsn = make_conninfo(postgres, dbname=name)
        many = [f"attribute_number_{number}" for number in range(40)]
        with psycopg.connect(dsn) as connection:
            call = connection.execute
            call("select metl.add_entity_version('wide', 1, %s)", [attributes(*(f"entity_{name}" for name in many))])
            call("select metl.add_schema_version(%s, 1, %s)", [WIDE, attributes(*many)])
            mapping = {f"entity_{name}": name for name in many[:8]}
            call("select metl.set_block(%s, 1, 'wide', 1, %s)", [WIDE, Jsonb(mapping)])
            for version in range(2, 12):
                call("select metl.add_schema_version(%s, %s, %s)", [WIDE, version, attributes(*many[version // 2 :])])
            for number in range(30):
                schema = f"{WIDE}_{number}"
                call("select metl.add_schema_version(%s, 1, %s)", [schema, attributes("mail")])
                call("select metl.set_block(%s, 1, 'wide', 1, %s)", [schema, Jsonb({f"entity_{many[0]}": "mail"})])
            call("select metl.set_policy(%s, 'wide', 'confirm')", [WIDE])
            call("select metl.add_schema_version(%s, 12, '[]')", [WIDE])
        yield make_conninfo(dsn, **people["metl_reader"])


def shown(words: str, dsn: str) -> list[str]:
    result = metl(*words.split(), METL_DSN=dsn)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.splitlines()


@pytest.mark.parametrize("words", COMMANDS)
def test_fits_80_columns(wide: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "width", 80)
    found = shown(words, wide)
    assert len(found) > 1
    # Commands to copy are one line each, however long.
    assert [line for line in found if cell_len(line) > 80 and not line.startswith("  metl matrix block add ")] == []


@pytest.mark.parametrize("words", COMMANDS)
def test_a_pipe_gets_the_same_whatever_the_terminal(wide: str, words: str) -> None:
    found = shown(words, wide)
    assert not any(line.endswith(" ") for line in found)
    assert "\x1b" not in "".join(found)
    assert not any(re.search(", and .* more", line) for line in found)


def test_long_lists_are_whole_in_a_pipe_and_cut_on_a_terminal(wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [whole] = [line for line in shown("entities coverage wide", wide) if line.startswith("entity_attribute_number_0 ")]
    assert all(f"{WIDE}_{number}" in whole for number in range(30))
    monkeypatch.setattr(console, "width", 80)
    cut = " ".join(" ".join(shown("entities coverage wide", wide)).split())
    assert "and 20 more" in cut


def test_tables_are_folded_between_words(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "width", 80)
    assert shown("matrix search mail", reader)[-2:] == [
        "entity      person.email                 2         shop.public.customer.e_mail,",
        "attribute                                          shop.public.customer.mail",
    ]
    monkeypatch.setattr(console, "width", 30)
    assert max(map(cell_len, shown("matrix search mail", reader))) <= 30, "where that cannot be, anywhere"


def test_a_wide_block_leaves_out_what_maps_nothing(wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = f"matrix block show {WIDE} 1 wide"
    assert sum("│" in line for line in shown(words, wide)) == 39
    monkeypatch.setattr(console, "width", 80)
    narrow = shown(words, wide)
    assert sum("│" in line for line in narrow) == 7, "stairs of the eight that are mapped"
    [row] = [line for line in narrow if line.startswith("entity_attribute_number_3 ")]
    assert row.split()[1:] == ["·", "·", "·", "1", "·", "·", "·", "·"]
    assert any(line.startswith("Not mapped: attribute_number_8, attribute_number_9,") for line in narrow)


def test_a_matrix_that_cannot_fit_is_folded(wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "width", 56)
    narrow = shown(f"matrix block show {WIDE} 1 wide", wide)
    assert all(cell_len(line) <= 56 for line in narrow if "│" in line or "·" in line)
    assert sum(line.startswith("entity_attribute_number_3 ") for line in narrow) > 1
    assert sum(line.count(" 1") for line in narrow if line.startswith("entity_")) == 8


def test_names_are_shown_as_they_are_but_tell_the_terminal_nothing(own: str, act: Run) -> None:
    name = "[red]sch\x1b[31mema\n"
    with psycopg.connect(own) as connection:
        connection.execute("select metl.add_schema_version(%s, 1, %s)", [name, attributes("[bold]a", "b\x1b[0m")])
        connection.execute("select metl.set_block(%s, 1, 'product', 1, %s)", [name, Jsonb({"sku": "b\x1b[0m"})])
    block = act("matrix", "block", "show", name, "1", "product")
    for result in (
        *(
            act("matrix", "schemas"),
            act("matrix", "schemas", name),
            act("matrix", "feeds", name),
            act("matrix", "fed-by", "product"),
            act("matrix", "states"),
        ),
        *(
            act("matrix", "diff"),
            act("matrix", "search", "sku"),
            act("matrix", "progression", name),
            act("matrix", "suggest", name),
            block,
        ),
    ):
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.stdout
    assert "[red]sch�[31mema�" in act("matrix", "schemas").stdout
    assert "[bold]a" in block.stdout


def test_on_a_real_terminal(reader: str) -> None:
    """Its width is asked for, and colours are there."""
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "METL_DSN": reader, "TERM": "xterm"}
    for variable in ("COLUMNS", "NO_COLOR"):
        environment.pop(variable, None)
    command = [sys.executable, "-m", "metl", "plans", "notices"]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, stdin=follower, env=environment)
    os.close(follower)
    said = b""
    try:
        while part := os.read(leader, 65536):
            said += part
    except OSError:
        pass  # the other end is closed
    os.close(leader)
    assert process.wait(60) == 0
    lines = said.decode().splitlines()
    assert any("\x1b[1m" in line for line in lines)
    assert max(cell_len(COLOURS.sub("", line)) for line in lines) <= 80
    assert not any("total → amount, created → ordered_at" in line for line in lines), "folded"


def test_whoever_reads_a_pipe_may_stop(reader: str) -> None:
    """As head does."""
    environment = {**os.environ, "METL_DSN": reader}
    with subprocess.Popen(
        [sys.executable, "-m", "metl", "matrix", "states", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
