"""metl up, metl down, metl status: the local stack."""

from dataclasses import asdict

import click
from rich.markup import escape

from metl import config
from metl.capture.health import Health
from metl.capture.monitor import observe
from metl.cli.capture.display import print_connectors
from metl.cli.options import dry_run_option, json_option
from metl.cli.output import EXIT_NO
from metl.home import Home
from metl.stack import KINDS, parts, supervisor
from metl.stack.connect import Connect
from metl.stack.postgres import Postgres
from metl.util.terminal import console, print_json, table

PART_NAMES = ", ".join(kind.name for kind in KINDS)
DRY_RUN = "Nothing was changed: a dry run."
COLOURS = {"up": "green", "elsewhere": "green", "died": "red", "silent": "red", "unreachable": "red", "down": "dim"}


def report(part: str, text: str) -> None:
    console.print(f"[bold]{part:<9}[/bold] {escape(text)}", soft_wrap=True)


def report_aside(part: str, text: str) -> None:
    """Where stdout is for the answer alone."""
    click.echo(f"{part:<9} {text}", err=True)


@click.command(
    short_help="Start the local stack, or some parts of it.",
    help=f"""Start PARTs ({PART_NAMES}; default: all) with what they need, and wait until they answer.

    \b
    metl up
    metl up postgres kafka
    """,
)
@click.argument("part", nargs=-1)
@dry_run_option
@json_option
def up(part: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    home = config.home()
    wanted = parts(home, part)
    starting: list[str] = []
    if dry_run or as_json:
        starting = [each.name for each in wanted if not each.is_elsewhere and each.daemon.process() is None]
    seconds = None if dry_run else supervisor.up(home, wanted, report_aside if as_json else report)
    if as_json:
        print_json({"parts": [each.name for each in wanted], "started": starting, "dry_run": dry_run,
                    "seconds": seconds})  # fmt: skip
    elif seconds is None:
        for each in wanted:
            report(each.name, "would start" if each.name in starting else f"is there: {each.shown_address()}")
        console.print(DRY_RUN)
    else:
        console.print(f"{len(wanted)} of {len(wanted)} parts answer after {seconds:.1f} s. See them with: metl status")


@click.command(
    short_help="Stop the local stack; the data stays.",
    help="Stop every part of the local stack. Data stays in METL_HOME.",
)
@dry_run_option
@json_option
def down(dry_run: bool, as_json: bool) -> None:
    home = config.home()
    running = [each.name for each in parts(home) if not each.is_elsewhere and each.daemon.process() is not None]
    if not dry_run:
        supervisor.down(home, parts(home), report_aside if as_json else report)
    if as_json:
        print_json({"stopped": running, "dry_run": dry_run})
    elif dry_run:
        for name in running:
            report(name, "would stop")
        console.print(DRY_RUN)
    else:
        console.print("Nothing of the local stack runs any more.")


@click.command(short_help="How every part and every connector is.")
@json_option
@click.pass_context
def status(context: click.Context, as_json: bool) -> None:
    """Show every part: where it is, whether it answers, what memory it takes. And every connector: its tasks and
    tables, how far behind its source it is, what is wrong and the way out.

    Exits with 3 if a part died or does not answer, or if a connector captures nothing.
    """
    home = config.home()
    running = supervisor.status(parts(home))
    captured = _connectors(home)
    seconds = supervisor.last_up_seconds(home)
    resident = sum(each.resident_bytes for each in running)
    if as_json:
        print_json(
            {
                "parts": [asdict(each) for each in running],
                "connectors": [each.as_dict() for each in captured],
                "up_seconds": seconds,
                "resident_bytes": resident,
            }
        )
    else:
        shown = table("part", "state", "address", "pid", "memory", "")
        for each in running:
            colour = COLOURS[each.state]
            memory = f"{each.resident_bytes / 2**20:.0f} MiB" if each.resident_bytes else ""
            state = f"[{colour}]{each.state}[/{colour}]"
            shown.add_row(each.name, state, escape(each.address), str(each.pid or ""), memory, escape(each.detail))
        console.print(shown)
        if resident:
            took = f"; the last `metl up` took {seconds:.1f} s" if seconds else ""
            console.print(f"{resident / 10**9:.2f} GB resident in all{took}.")
        if captured:
            console.print()
            print_connectors(captured)
    context.exit(EXIT_NO if any(each.is_bad for each in running) or any(each.is_bad for each in captured) else 0)


def _connectors(home: Home) -> list[Health]:
    """None where there is no Kafka Connect, or one that was never started."""
    connect, postgres = Connect(home), Postgres(home)
    if not connect.is_elsewhere and not connect.daemon.was_started():
        return []
    has_database = postgres.is_elsewhere or bool(postgres.port)
    return observe(connect.address, postgres.address if has_database else None)
