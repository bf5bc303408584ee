"""metl entities plan, apply, publish, export: the canonical data model as code."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import psycopg
from psycopg import errors

from metl.cdm import export as exporting
from metl.cdm import files, form
from metl.cdm import plan as planning
from metl.cdm import publish as publishing
from metl.cdm.schema import entity_versions
from metl.cli.entities.display import show_applied, show_plan
from metl.cli.options import dry_run_option, json_option, state_why_option, yes_option
from metl.cli.output import EXIT_NO
from metl.config import database_dsn, registry_url
from metl.db.connection import snapshot, transaction
from metl.errors import MetlError
from metl.util.problems import InvalidFiles
from metl.util.prompts import confirm
from metl.util.terminal import plural, print_json, printable, say

path_argument = click.argument("path", type=click.Path(path_type=Path), default="cdm")
delete_option = click.option("--delete", is_flag=True, help="Also delete the entities that only the database has.")


@click.command()
@path_argument
@click.option("--check", is_flag=True, help="Exit with 3 if something would change.")
@click.option("--check-losses", is_flag=True, help="Exit with 3 only if mappings would be lost.")
@delete_option
@json_option
@click.pass_context
def plan(context: click.Context, path: Path, check: bool, check_losses: bool, delete: bool, as_json: bool) -> None:
    """Show what the entities in PATH (a file or folder; default: cdm) would change, and change nothing.

    \b
    metl entities plan
    metl entities plan cdm/person.yaml --check-losses     in CI

    For each entity: whether it is new, unchanged, gets a next version with which differences, or is only in the
    database; which mappings go on with it, and which cells are lost.
    """
    with _all_problems(context, as_json):
        steps = _planned(path, delete)
    if as_json:
        print_json({"entities": [step.as_json() for step in steps]})
    else:
        show_plan(steps)
    changes = any(step.changes_something for step in steps)
    loses = any(step.lost for step in steps)
    context.exit(EXIT_NO if (check and changes) or ((check or check_losses) and loses) else 0)


@click.command()
@path_argument
@dry_run_option
@state_why_option
@yes_option
@delete_option
@click.option("--no-publish", is_flag=True, help="Leave the registry alone.")
@json_option
@click.pass_context
def apply(
    context: click.Context,
    path: Path,
    dry_run: bool,
    why: str | None,
    yes: bool,
    delete: bool,
    no_publish: bool,
    as_json: bool,
) -> None:
    """Make the entities of the database what PATH (a file or folder; default: cdm) says, all of them or none.

    Each entity that differs gets its next version, as one state; its mappings go on as far as its attributes do.
    Under policy confirm a version that would lose mappings waits as a plan. Entities that are only in the database
    are left alone. New versions are published to the registry (METL_REGISTRY, or the local one) as JSON Schema:
    group metl.cdm, artifact cdm.<entity>-value, the same version numbers.
    """
    if dry_run:
        context.invoke(plan, path=path, delete=delete, as_json=as_json)
        return
    with _all_problems(context, as_json):
        steps = _planned(path, delete)
    planning.refuse(steps)
    lost = planning.lost_without_confirmation(steps)
    if lost and not yes and not as_json and sys.stdin.isatty():
        show_plan(steps)
    if lost:
        confirm(f"{plural(lost, 'cell')} will be lost. Go on?", yes)
    with transaction(database_dsn(), why) as connection:
        applied = _apply(connection, path, delete, steps)
    if not as_json:
        show_applied(steps, applied)
    published, failure = None, None
    try:
        published = None if no_publish else _publish()
    except MetlError as error:
        reason = str(error).rstrip(".")
        failure = f"The entities are applied, but not published: {reason}. Mend that and run: metl entities publish"
    if as_json:
        versions = None if published is None else _plain(published.new)
        print_json({"applied": [asdict(each) for each in applied], "published": versions})
    if failure is not None:
        raise MetlError(failure)
    if published is not None:
        _report(published, as_json)


@click.command()
@dry_run_option
@json_option
def publish(dry_run: bool, as_json: bool) -> None:
    """Publish every entity version that the registry lacks, also those that were added by SQL.

    As JSON Schema in group metl.cdm, artifact cdm.<entity>-value. What is there already stays as it is.
    """
    published = _publish(dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "published": _plain(published.new), "different": _plain(published.different)})
    if dry_run and not as_json:
        say("Nothing was changed: a dry run.")
    _report(published, as_json, "Would be published" if dry_run else "Published")


@click.command()
@click.option("--output", type=click.Path(path_type=Path), help="A folder for a file of each entity.")
@click.option("--editor-schema", is_flag=True, help="Print the JSON Schema of such files, for editors.")
def export(output: Path | None, editor_schema: bool) -> None:
    """Print the live entities of the database as YAML, or write them to a folder.

    \b
    metl entities export --output cdm
    metl entities export --editor-schema > cdm.schema.json     for completion and checks while you write
    """
    if editor_schema:
        print_json(form.editor_schema())
        return
    with snapshot(database_dsn()) as connection:
        entities = exporting.live_entities(connection)
    if output is None:
        click.echo(exporting.as_yaml(entities), nl=False)
    else:
        written = exporting.write(entities, output)
        say(f"{len(written)} entities are in {output}.")


@contextlib.contextmanager
def _all_problems(context: click.Context, as_json: bool) -> Iterator[None]:
    """For programs, what is wrong with files is an answer like any other."""
    try:
        yield
    except InvalidFiles as wrong:
        if not as_json:
            raise
        print_json(
            {"problems": [{"file": each.file, "line": each.line, "problem": each.message} for each in wrong.problems]}
        )
        context.exit(wrong.exit_code)


def _planned(path: Path, delete: bool) -> list[planning.Step]:
    with snapshot(database_dsn()) as connection:
        return _plan(connection, path, delete)


def _plan(connection: psycopg.Connection, path: Path, delete: bool) -> list[planning.Step]:
    return planning.plan(connection, files.read(path, form.Types.of(connection)), delete)


def _apply(
    connection: psycopg.Connection, path: Path, delete: bool, shown: Sequence[planning.Step]
) -> list[planning.Applied]:
    """Exactly what was shown: nobody may have changed anything meanwhile."""
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    try:
        if _plan(connection, path, delete) == shown:
            return planning.apply(connection, shown)
    except errors.SerializationFailure:
        pass
    raise MetlError("Nothing was changed: somebody else changed METL or the files meanwhile. Run it again.")


def _publish(dry_run: bool = False) -> publishing.Published:
    registry = registry_url()
    with snapshot(database_dsn()) as connection:
        versions = entity_versions(connection)
    return publishing.publish(registry, versions, dry_run=dry_run)


def _plain(versions: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"entity": each.entity, "version": each.version, "artifact": each.artifact} for each in versions]


def _report(published: publishing.Published, as_json: bool, done: str = "Published") -> None:
    if not as_json:
        names = ", ".join(f"{each.entity} {each.version}" for each in published.new)
        say(f"{done} to the registry: {printable(names) or 'nothing new'}.")
    if published.different:
        names = ", ".join(f"{each.artifact} {each.version}" for each in published.different)
        raise MetlError(
            f"The registry has something else under the same name and version, which was left as it is: {names}. "
            "Does another METL publish there? Delete them there, and run: metl entities publish"
        )
