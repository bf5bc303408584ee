from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from metl.cli import PLACES, main


def metl(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(main, words, env=environment)


def test_help_names_every_command_and_variable() -> None:
    text = metl("--help").output
    for word in [*PLACES, "METL_HOME", "METL_DSN", "METL_KAFKA", "METL_REGISTRY", "METL_CONNECT", "130", "143"]:
        assert word in text


@pytest.mark.parametrize("command", sorted(PLACES))
def test_every_command_has_help(command: str) -> None:
    result = metl(command, "--help")
    assert result.exit_code == 0
    found = main.get_command(click.Context(main), command)
    assert found is not None and found.name == command
    assert found.get_short_help_str()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["up", "kafak"], "There is no part 'kafak'. The parts are postgres, kafka, registry, connect."),
        (["logs", "zookeeper"], "There is no part 'zookeeper'."),
        (["fetch", "flink"], "ivy.xml has no configuration 'flink'. It has spark, broker,"),
        (["start"], "No such command 'start'. Did you mean 'status' or 'states'?"),
    ],
)
def test_a_wrong_word_is_a_sentence_and_exit_code_2(words: list[str], sentence: str) -> None:
    result = metl(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


@pytest.mark.parametrize("words", [["initial-load", "person", "--schema", "shop.customer"], ["snapshot", "shop", "t"]])
@pytest.mark.parametrize(
    "address", ["postgresql://me:hidden@127.0.0.1:1/shop", "host=127.0.0.1 port=1 password=hidden"]
)
def test_a_password_on_the_command_line_is_refused(words: list[str], address: str) -> None:
    result = metl(*words, "--why", "a test", "--source", address)
    assert result.exit_code == 2
    assert "--source has a password" in result.stderr and "Set METL_SOURCE_DSN" in result.stderr
    assert "hidden" not in result.output


@pytest.mark.parametrize("words", [["initial-load", "person", "--schema", "shop.customer"], ["snapshot", "shop", "t"]])
def test_a_password_is_taken_from_the_environment(words: list[str], tmp_path: Path) -> None:
    """Both go on, and miss the local stack."""
    nowhere = {"METL_HOME": str(tmp_path), "METL_DSN": "", "METL_CONNECT": ""}
    result = metl(*words, "--why", "a test", METL_SOURCE_DSN="postgresql://me:hidden@127.0.0.1:1/shop", **nowhere)
    assert "Start a local one with `metl up" in result.stderr


@pytest.mark.parametrize("part", ["kafka", "connect"])
def test_no_java_is_a_sentence_and_exit_code_2(part: str, tmp_path: Path) -> None:
    result = metl("up", part, METL_HOME=str(tmp_path / "home"), JAVA_HOME=str(tmp_path))
    assert result.exit_code == 2
    assert "has no bin/java. Install Java 17 or newer" in result.stderr
    assert "Traceback" not in result.output


def test_an_unusable_home_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = metl("up", "postgres", METL_HOME=str(tmp_path / "file"))
    assert result.exit_code == 2
    assert f"METL_HOME={tmp_path / 'file'} cannot be used" in result.stderr


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("METL_DSN", "postgresql://ada:secret@127.0.0.1:1/metl", "postgres"),
        ("METL_DSN", "no dsn at all", "postgres"),
        ("METL_KAFKA", "127.0.0.1:1", "kafka"),
        ("METL_REGISTRY", "http://127.0.0.1:1", "registry"),
        ("METL_CONNECT", "127.0.0.1:1", "connect"),
    ],
)
def test_an_address_that_does_not_answer_is_named(variable: str, value: str, part: str, tmp_path: Path) -> None:
    environment = {"METL_HOME": str(tmp_path), "METL_KAFKA": "127.0.0.1:1", variable: value}
    result = metl("up", part, **environment)
    assert result.exit_code == 1
    assert variable in result.stderr and "does not answer" in result.stderr
    assert "secret" not in result.output
    assert "Traceback" not in result.output


def test_status_of_nothing_is_fine(tmp_path: Path) -> None:
    result = metl("status", METL_HOME=str(tmp_path / "home"))
    assert result.exit_code == 0
    assert result.output.count("down") == 4
    assert not (tmp_path / "home").exists()


def test_down_of_nothing_is_fine(tmp_path: Path) -> None:
    assert metl("down", METL_HOME=str(tmp_path / "home")).exit_code == 0


def test_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    result = metl("logs", "kafka", METL_HOME=str(tmp_path))
    assert result.exit_code == 2
    assert "kafka has no log yet. Start it with: metl up kafka" in result.stderr
