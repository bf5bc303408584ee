"""Every command of METL that a document, a help text or a hint names is there, with the options that it names."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from metl import config
from metl.cli import main
from metl.cli.renamed import RENAMED
from metl_spark.loading.job import main as load
from metl_spark.mapping.job import main as map_
from metl_spark.warehouse.job import main as warehouse

ROOT = Path(__file__).parents[2]
#: These hand their words over to a job, which has the options.
JOBS = {"map": map_, "load": load, "warehouse": warehouse}
#: `metl` is also a schema, a database and the prefix of a role, so these words may follow it.
NO_COMMANDS = {"job", "from", "now", "is", "owner", "cascade", "checkpoint", "metl", "name", "commands", "to"}
#: As a shell or a sentence writes it, up to what ends either.
WRITTEN = re.compile(r"(?<![\w./$'-])(?<!from )metl ((?:[a-z][a-z-]*(?![\w.(]))[^`\"#;|)\n]*)")
#: As a list of words, for shlex.join and subprocess.
LISTED = re.compile(r"[\[(]\"metl\", ((?:f?\"[^\"]*\"(?:, )?)+)")


class Named(NamedTuple):
    where: str
    words: tuple[str, ...]


def files() -> list[Path]:
    folders = ("README.md", "CHANGELOG.md", "docs", "python", "sql", "spark_jobs", "dbt_project", "compose", "Makefile")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders, "docker-compose.yml"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def named() -> Iterator[Named]:
    for file in files():
        if file.name in ("renamed.py", "CHANGELOG.md"):
            # They say what commands were called once.
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            where = f"{file.relative_to(ROOT)}:{number}"
            for written in WRITTEN.findall(line):
                words = tuple(re.split(r"\s{2,}| > | < |, |\. |: ", written)[0].split())
                if words and words[0] not in NO_COMMANDS:
                    yield Named(where, words)
            for listed in LISTED.findall(line):
                words = tuple(re.findall(r"\"([^\"]*)\"", listed))
                if words[0] not in NO_COMMANDS:
                    yield Named(where, words)


def problem(words: tuple[str, ...]) -> str | None:
    """What is wrong with a command, by the same tree that --help shows."""
    command: click.Command = main
    context = click.Context(main, info_name="metl")
    rest = list(words)
    while isinstance(command, click.Group):
        if not rest or not re.fullmatch(r"[a-z][a-z-]*[.,:]?", rest[0]):
            return (
                None
                if rest and (rest[0].isupper() or rest[0] == "…")
                else f"{context.command_path} is a group: name a command of it"
            )
        name = rest.pop(0).rstrip(".,:")
        found = command.get_command(context, name)
        if found is None:
            return f"{context.command_path} has no command {name}"
        command, context = found, click.Context(found, info_name=name, parent=context)
    parameters = JOBS.get(command.name or "", command).params
    options = {name for each in parameters for name in (*each.opts, *each.secondary_opts)}
    if command.name in ("build", "dbt"):
        return None  # dbt has options of its own
    for word in rest:
        option = re.match(r"(--[a-z-]+|-[a-zA-Z](?![\w-]))", word)
        if option and option[0] not in {*options, "--help", "-h"}:
            return f"{context.command_path} has no option {option[0]}"
    return None


def test_every_command_that_is_named_is_there() -> None:
    found = list(named())
    assert len(found) > 250
    problems = {
        f"{each.where}: metl {shlex.join(each.words)}: {what}" for each in found if (what := problem(each.words))
    }
    assert not problems, "\n".join(sorted(problems))


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("block show x", "metl has no command block"),
        ("matrix blok show", "metl matrix has no command blok"),
        ("plans", "metl plans is a group: name a command of it"),
        ("entities sql person --newest", "metl entities sql has no option --newest"),
        ("map --topic x", "metl map has no option --topic"),
        ("streams tail cdm.person -n 1", None),
        ("matrix COMMAND", None),
        ("map --topics x", None),
    ],
)
def test_it_would_be_noticed(words: str, what: str | None) -> None:
    assert problem(tuple(words.split())) == what


def test_help_texts_are_among_what_is_looked_at() -> None:
    places = {each.where.split(":")[0] for each in named()}
    assert {"README.md", "docs/guide.md", "python/metl/cli/matrix/__init__.py", "spark_jobs/README.md"} <= places
    assert any(place.startswith("sql/") for place in places)


def test_every_old_name_leads_to_a_command() -> None:
    for old, new in RENAMED.items():
        assert problem((*new.split(), "COMMAND")) is None, old
        top = main.get_command(click.Context(main), old.split()[0])
        assert top is None or isinstance(top, click.Group)


def test_the_changelog_has_the_same_table() -> None:
    rows = re.findall(r"^\| `metl ([^`]+)` \| `metl ([^`]+)` \|", (ROOT / "CHANGELOG.md").read_text(), re.M)

    def command_of(text: str) -> str:
        return " ".join(word for word in text.split() if word.islower() and not word.startswith("-"))

    assert RENAMED.items() <= {command_of(old): command_of(new) for old, new in rows}.items() | {
        ("policy", "plans policy list"),
        ("offsets", "jobs offsets"),
    }
    for _, new in rows:
        assert problem((*new.split(), "COMMAND")) is None, new


def test_help_names_every_variable() -> None:
    """test_config.py compares metl.config with what METL reads."""
    pattern = re.compile(r"(?<![A-Z_])METL_[A-Z_]*[A-Z]")
    variables = {each.name for each in (*config.VARIABLES, *config.DEPLOYMENT_VARIABLES)}
    assert set(pattern.findall(main.get_help(click.Context(main, info_name="metl")))) == variables
