"""metl up, down, status, logs, env: the local stack."""

import collections
import contextlib
import shlex
import time
from dataclasses import asdict
from pathlib import Path

import click
from rich.markup import escape

from metl.capture.health import Health
from metl.capture.monitor import observe
from metl.cli.capture_display import print_connectors
from metl.errors import BadInput
from metl.home import Home
from metl.stack import KINDS, parts, supervisor
from metl.stack.connect import Connect
from metl.stack.postgres import Postgres
from metl.util.terminal import console, print_json, table

PART_NAMES = ", ".join(kind.name for kind in KINDS)
COLOURS = {"up": "green", "elsewhere": "green", "died": "red", "silent": "red", "unreachable": "red", "down": "dim"}


def report(part: str, text: str) -> None:
    console.print(f"[bold]{part:<9}[/bold] {escape(text)}", soft_wrap=True)


@click.command(
    short_help="Start it, or some parts of it.",
    help=f"Start PARTs ({PART_NAMES}; default: all) with what they need, and wait until they answer.",
)
@click.argument("part", nargs=-1)
def up(part: tuple[str, ...]) -> None:
    home = Home.from_environment()
    wanted = parts(home, part)
    seconds = supervisor.up(home, wanted, report)
    console.print(f"{len(wanted)} of {len(wanted)} parts answer after {seconds:.1f} s. See them with: metl status")


@click.command(
    short_help="Stop it; the data stays.", help="Stop every part of the local stack. Data stays in METL_HOME."
)
def down() -> None:
    home = Home.from_environment()
    supervisor.down(home, parts(home), report)
    console.print("Nothing of the local stack runs any more.")


@click.command(short_help="See every part: where it is, whether it answers.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_context
def status(context: click.Context, as_json: bool) -> None:
    """Show every part: where it is, whether it answers, what memory it takes. And every connector: its tasks and
    tables, how far behind its source it is, what is wrong and the way out.

    Exits with 1 if a part died or does not answer, or if a connector captures nothing.
    """
    home = Home.from_environment()
    found = supervisor.status(parts(home))
    captured = _connectors(home)
    seconds = supervisor.last_up_seconds(home)
    resident = sum(each.resident_bytes for each in found)
    if as_json:
        print_json(
            {
                "parts": [asdict(each) for each in found],
                "connectors": [each.as_dict() for each in captured],
                "up_seconds": seconds,
                "resident_bytes": resident,
            }
        )
    else:
        shown = table("part", "state", "address", "pid", "memory", "")
        for each in found:
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
    context.exit(1 if any(each.is_bad for each in found) or any(each.is_bad for each in captured) else 0)


def _connectors(home: Home) -> list[Health]:
    """None where there is no Kafka Connect, or one that was never started."""
    connect, postgres = Connect(home), Postgres(home)
    if not connect.is_elsewhere and not connect.daemon.was_started():
        return []
    has_database = postgres.is_elsewhere or bool(postgres.port)
    return observe(connect.address, postgres.address if has_database else None)


@click.command(short_help="Show the log of a part.")
@click.argument("part")
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="How many of the last lines."
)
@click.option("-f", "--follow", is_flag=True, help="Go on as lines are added, until Ctrl-C.")
def logs(part: str, lines: int, follow: bool) -> None:
    """Show the log of a PART."""
    [found] = [each for each in parts(Home.from_environment(), (part,)) if each.name == part]
    log: Path = found.daemon.log
    if not log.exists():
        raise BadInput(f"{part} has no log yet. Start it with: metl up {part}")
    with log.open(errors="replace") as file:
        click.echo("".join(collections.deque(file, maxlen=lines)), nl=False)
        with contextlib.suppress(KeyboardInterrupt):
            while follow:
                click.echo(file.read(), nl=False)
                time.sleep(0.3)


@click.command(short_help="Print the addresses, for a shell.")
def env() -> None:
    """Print the addresses of the local stack for a shell: eval "$(metl env)"

    Passwords are not in it; METL_DSN names the file that holds them.
    """
    home = Home.from_environment()
    for part in parts(home):
        if part.is_elsewhere or part.daemon.process():
            click.echo(f"export {part.server.variable}={shlex.quote(part.address)}")
        if isinstance(part, Postgres) and part.daemon.process():
            click.echo(f"export METL_JOB_DSN={shlex.quote(part.job_address)}")
