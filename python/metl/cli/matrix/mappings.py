"""metl matrix import, metl matrix export: mappings as CSV."""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from metl.cli.options import dry_run_option, json_option, state_why_option
from metl.cli.output import print_cells
from metl.config import database_dsn
from metl.db.connection import snapshot, transaction
from metl.errors import BadInput
from metl.matrix.csv_mappings.apply import Applied, apply, plan
from metl.matrix.csv_mappings.export import export as export_csv
from metl.matrix.csv_mappings.parse import Lines, parse
from metl.util.problems import InvalidFiles
from metl.util.terminal import plural, print_json, printable, say

#: So many cells are shown on a terminal.
SHOWN = 100
#: From how many bytes on reading and storing takes long enough to be watched.
BIG = 200_000
BLOCK = ("schema", "version", "entity", "entity_version")


@click.command("import", short_help="Set mappings from a CSV file.")
@click.argument("file", type=click.File("rb"))
@dry_run_option
@state_why_option
@click.option("--replace", is_flag=True, help="Also clear every block that the file does not mention.")
@json_option
@click.pass_context
def import_(
    context: click.Context, file: BinaryIO, dry_run: bool, why: str | None, replace: bool, as_json: bool
) -> None:
    """Set mappings from the CSV in FILE (- is standard input), all of them as one state, or none.

    The first line names the columns schema, version, attribute, entity, entity_version and entity_attribute,
    separated by commas, semicolons or tabs; each further line is one cell. Whole blocks are set: the block of a
    schema version and an entity version that is mentioned gets exactly the cells that are given, and loses the
    others. A line without attribute and entity_attribute says that its block maps nothing. Blocks that are not
    mentioned stay as they are.

    \b
    schema,version,attribute,entity,entity_version,entity_attribute
    shop.customer,1,id,person,1,number
    shop.customer,1,mail,person,1,email

    \b
    metl matrix import mappings.csv --dry-run
    metl matrix import mappings.csv

    `metl matrix export` writes such files. A name there has an apostrophe before it if a spreadsheet would
    otherwise take it for a formula; it is taken away again here.
    """
    try:
        if dry_run:
            _show_planned(_planned(file, replace), as_json)
        else:
            _show_stored(_stored(file, replace, why), as_json)
    except InvalidFiles as wrong:
        if not as_json:
            raise
        print_json({"problems": [{"line": each.line, "problem": each.message} for each in wrong.problems]})
        context.exit(wrong.exit_code)


@click.command(short_help="Write mappings as CSV.")
@click.option("--schema", help="Only the mappings of this schema.")
@click.option("--entity", help="Only the mappings to this entity.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="A file instead of standard output.")
def export(schema: str | None, entity: str | None, output: Path | None) -> None:
    """Print every mapping of the current matrix as CSV, sorted, as `metl matrix import` reads it.

    \b
    metl matrix export --entity person --output person.csv

    A name that a spreadsheet would take for a formula has an apostrophe before it.
    """
    with snapshot(database_dsn()) as connection:
        if output is None:
            export_csv(connection, sys.stdout.buffer, schema, entity)
            sys.stdout.buffer.flush()
        else:
            with _whole(output) as target:
                export_csv(connection, target, schema, entity)


def _planned(file: BinaryIO, replace: bool) -> list[dict[str, Any]]:
    data = file.read()
    with _progress(data) as progress:
        lines = _read(data, getattr(file, "name", "<stdin>"), progress)
        with snapshot(database_dsn()) as connection:
            progress.add_task(f"Comparing {len(lines):,} lines with the matrix", total=None)
            return plan(connection, lines, replace)


def _stored(file: BinaryIO, replace: bool, why: str | None) -> Applied | None:
    data = file.read()
    with _progress(data) as progress:
        lines = _read(data, getattr(file, "name", "<stdin>"), progress)
        with transaction(database_dsn(), why) as connection:
            progress.add_task(f"Setting {len(lines):,} lines", total=None)
            return apply(connection, lines, replace)


def _progress(data: bytes) -> Progress:
    """Beside what is printed, and only where somebody sees it and has to wait."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    quick = len(data) < BIG or not sys.stderr.isatty()
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=quick)


def _read(data: bytes, name: str, progress: Progress) -> Lines:
    return parse(data, name, lambda lines: iter(progress.track(lines, description="Reading lines")))


def _show_stored(stored: Applied | None, as_json: bool) -> None:
    if as_json:
        print_json(
            {"state": None, "blocks": 0, "gained": 0, "lost": 0, "remarks": []} if stored is None else asdict(stored)
        )
    elif stored is None:
        say("Nothing to change: the matrix is as the file says. No state was made.")
    else:
        say(f"State {stored.state} changed {_summary(stored.blocks, stored.gained, stored.lost)}.")
        for remark in stored.remarks:
            say(printable(remark))


def _show_planned(cells: list[dict[str, Any]], as_json: bool) -> None:
    blocks: dict[tuple[Any, ...], dict[str, Any]] = {}
    counts = Counter(cell["fate"] for cell in cells)
    for cell in cells:
        block = {name: cell[name] for name in BLOCK}
        changes = blocks.setdefault(tuple(block.values()), {**block, "gained": [], "lost": []})
        pair = {"attribute": cell["attribute"], "entity_attribute": cell["entity_attribute"]}
        changes[cell["fate"]].append(
            pair | ({"remark": cell["reason"]} if cell["fate"] == "gained" and cell["reason"] else {})
        )
    if as_json:
        print_json({"gained": counts["gained"], "lost": counts["lost"], "blocks": list(blocks.values())})
        return
    if not cells:
        say("Nothing would change: the matrix is as the file says.")
        return
    print_cells(cells[:SHOWN])
    if len(cells) > SHOWN:
        say(f"and {len(cells) - SHOWN:,} more, which --json lists.")
    say(f"This would change {_summary(len(blocks), counts['gained'], counts['lost'])}.")


def _summary(blocks: int, gained: int, lost: int) -> str:
    return f"{plural(blocks, 'block')}: {plural(gained, 'cell')} gained, {lost:,} lost"


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """A file that is there when it is complete, and otherwise not."""
    scratch = path.with_name(f"{path.name}.part")
    try:
        with scratch.open("wb") as file:
            yield file
        scratch.replace(path)
    except OSError as error:
        raise BadInput(f"--output {path} cannot be written: {error.strerror}.") from None
    finally:
        scratch.unlink(missing_ok=True)
