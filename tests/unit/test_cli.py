import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from metl.cli import main


def metl(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(main, words, env=environment)


METL = str(Path(sys.executable).parent / "metl")
WITH_SOURCES = [
    ["entities", "initial-load", "person", "--schema", "shop.customer", "--why", "a test"],
    ["capture", "snapshot", "shop", "t", "--why", "a test"],
    ["capture", "add", "shop", "public.t"],
    ["capture", "check", "shop", "public.t"],
    ["entities", "compare", "person"],
]


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    """Every command with the words that call it, groups too."""
    context = click.Context(group)
    named = {(*path, name): group.get_command(context, name) for name in group.list_commands(context)}
    every = {words: each for words, each in named.items() if each is not None}
    for words, each in list(every.items()):
        if isinstance(each, click.Group):
            every |= commands(each, words)
    return every


COMMANDS = commands()
#: What needs no dry run, and why.
WITHOUT_DRY_RUN = {
    ("demo",): "runs on a stack of its own, which it throws away",
    ("map",): "what a job does shows in its first batch; load --dry-run counts what is there",
    ("warehouse",): "likewise",
    ("dead-letters", "collect"): "a job",
    ("stack", "fetch"): "fills a cache",
    ("marts", "dbt"): "dbt has options of its own",
}
CHANGING = {
    ("up",), ("down",), ("install",), ("sync",), ("capture", "add"), ("capture", "remove"), ("capture", "restart"),
    ("capture", "snapshot"), ("matrix", "import"), ("matrix", "block", "set"), ("matrix", "block", "add"),
    ("matrix", "block", "remove"), ("matrix", "block", "clear"), ("entities", "apply"), ("entities", "publish"),
    ("entities", "initial-load"), ("plans", "confirm"), ("plans", "reject"), ("plans", "acknowledge"),
    ("plans", "policy", "set"), ("plans", "policy", "set-column"), ("jobs", "stop"), ("jobs", "reset"),
    ("dead-letters", "replay"), ("dead-letters", "give-up"), ("streams", "reprocess"), ("marts", "build"),
}  # fmt: skip
#: They change a stream: somebody will ask why.
WITH_WHY = {
    ("capture", "remove"), ("capture", "snapshot"), ("entities", "initial-load"), ("jobs", "reset"),
    ("dead-letters", "replay"), ("dead-letters", "give-up"), ("streams", "reprocess"),
}  # fmt: skip
#: Their answer is a file for another program, a shell or a person.
WITHOUT_JSON = {
    ("demo",), ("map",), ("load",), ("warehouse",), ("stack", "logs"), ("stack", "env"), ("stack", "fetch"),
    ("matrix", "export"), ("entities", "export"), ("entities", "sql"), ("entities", "dbt-source"),
    ("marts", "build"), ("marts", "dbt"),
}  # fmt: skip
LEAVES = {words: each for words, each in COMMANDS.items() if not isinstance(each, click.Group)}


def options(command: click.Command) -> dict[str, click.Parameter]:
    return {name: each for each in command.params for name in each.opts if name.startswith("-")}


def test_help_is_short_and_has_every_exit_code() -> None:
    text = metl("--help").output
    assert len(main.list_commands(click.Context(main))) <= 18
    for word in [*main.list_commands(click.Context(main)), "130", "143", "_METL_COMPLETE=bash_source metl"]:
        assert word in text


@pytest.mark.parametrize("words", sorted(COMMANDS), ids=" ".join)
def test_every_command_has_help(words: tuple[str, ...]) -> None:
    result = metl(*words, "--help")
    assert result.exit_code == 0
    assert COMMANDS[words].name == words[-1]
    assert COMMANDS[words].get_short_help_str()
    if isinstance(COMMANDS[words], click.Group):
        assert f"  metl {' '.join(words)} " in result.output, "an example"


def test_every_changing_command_has_a_dry_run() -> None:
    assert {words for words, each in LEAVES.items() if "--dry-run" in options(each)} == CHANGING
    assert LEAVES.keys() >= WITHOUT_DRY_RUN.keys()


def test_what_changes_a_stream_requires_a_reason() -> None:
    required = {words for words, each in LEAVES.items() if "--why" in options(each) and options(each)["--why"].required}
    assert required == WITH_WHY


def test_what_changes_the_matrix_takes_a_reason() -> None:
    offered = {words for words, each in LEAVES.items() if "--why" in options(each)} - WITH_WHY
    assert offered == {
        ("capture", "restart"), ("matrix", "import"), ("matrix", "block", "set"), ("matrix", "block", "add"),
        ("matrix", "block", "remove"), ("matrix", "block", "clear"), ("entities", "apply"), ("plans", "confirm"),
    }  # fmt: skip


def test_every_answer_can_be_json() -> None:
    assert {words for words, each in LEAVES.items() if "--json" not in options(each)} == WITHOUT_JSON


def test_options_are_spelled_and_explained_alike() -> None:
    for name in ("--json", "--dry-run", "--yes", "--kafka-config"):
        texts = {getattr(options(each)[name], "help", None) for each in LEAVES.values() if name in options(each)}
        assert len(texts) == 1, name
    for words, each in LEAVES.items():
        given = options(each)
        assert ("-n" in given) == ("--limit" in given), words
        assert not given.keys() & {"--number", "--lines", "--plan", "--newest", "--dsn", "--password", "--most"}, words


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["block", "show", "x"], "`metl block` is now `metl matrix block`."),
        (["notices"], "`metl notices` is now `metl plans notices`."),
        (["notices", "confirm", "7"], "`metl notices confirm` is now `metl plans acknowledge`."),
        (["dead", "replay", "7"], "`metl dead replay` is now `metl dead-letters replay`."),
        (["jobs", "--json"], "A command comes first: metl jobs COMMAND --json"),
        (["matrix", "blok"], "No such command 'blok'. Did you mean 'block'?"),
        (["entities", "person"], "No such command 'person'. Known are"),
    ],
)
def test_an_old_or_wrong_name_leads_to_the_right_one(words: list[str], sentence: str) -> None:
    result = metl(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_a_shell_can_complete() -> None:
    asked = {"_METL_COMPLETE": "bash_complete", "COMP_WORDS": "metl matrix s", "COMP_CWORD": "2"}
    done = subprocess.run([METL], env=os.environ | asked, capture_output=True, text=True)
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == [
        "suggest", "simulate", "search", "schemas", "states",
    ]  # fmt: skip


def test_tail_reads_the_properties_of_kafka(tmp_path: Path) -> None:
    config = tmp_path / "kafka.properties"
    result = metl("streams", "tail", "x", METL_KAFKA="127.0.0.1:1", METL_KAFKA_CONFIG=str(config))
    assert (result.exit_code, result.stderr) == (2, f"Error: --kafka-config {config}: No such file or directory.\n")
    config.write_text("no.such.property=1")
    result = metl("streams", "tail", "x", METL_KAFKA="127.0.0.1:1", METL_KAFKA_CONFIG=str(config))
    assert result.exit_code == 2 and "Kafka's client does not take these settings" in result.stderr


def test_jobs_do_not_need_the_command_line() -> None:
    code = "import sys, metl_spark.mapping.job, metl_spark.loading.job, metl_spark.warehouse.job; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "metl_spark.mapping.job" in modules and "metl.cli" not in modules


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["up", "kafak"], "There is no part 'kafak'. The parts are postgres, kafka, registry, connect."),
        (["stack", "logs", "zookeeper"], "There is no part 'zookeeper'."),
        (["stack", "fetch", "flink"], "ivy.xml has no configuration 'flink'. It has spark, broker,"),
        (["start"], "No such command 'start'. Did you mean 'status' or 'stack' or 'marts'?"),
    ],
)
def test_a_wrong_word_is_a_sentence_and_exit_code_2(words: list[str], sentence: str) -> None:
    result = metl(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


@pytest.mark.parametrize("words", WITH_SOURCES)
@pytest.mark.parametrize(
    "address", ["postgresql://me:hidden@127.0.0.1:1/shop", "host=127.0.0.1 port=1 password=hidden"]
)
def test_a_password_on_the_command_line_is_refused(words: list[str], address: str) -> None:
    result = metl(*words, "--source", address)
    assert result.exit_code == 2
    assert "--source has a password" in result.stderr and "Set METL_SOURCE_DSN" in result.stderr
    assert "hidden" not in result.output


@pytest.mark.parametrize("words", WITH_SOURCES[:4])
def test_a_password_is_taken_from_the_environment(words: list[str], tmp_path: Path) -> None:
    """They go on, and miss the local stack."""
    nowhere = {"METL_HOME": str(tmp_path), "METL_DSN": "", "METL_CONNECT": ""}
    result = metl(*words, METL_SOURCE_DSN="postgresql://me:hidden@127.0.0.1:1/shop", **nowhere)
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
    result = metl("stack", "logs", "kafka", METL_HOME=str(tmp_path))
    assert result.exit_code == 2
    assert "kafka has no log yet. Start it with: metl up kafka" in result.stderr
