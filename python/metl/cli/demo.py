"""metl demo: the whole of METL at work."""

import asyncio
import shutil
import sys
import time

import click

from metl import config
from metl.cli.stack.lifecycle import report
from metl.demo import scenario
from metl.demo.programs import Program
from metl.errors import BadInput
from metl.home import Home
from metl.jvm import jars
from metl.stack import parts, supervisor
from metl.util import signals


@click.command(short_help="See everything at work, on a stack of its own.")
@click.option("--keep", is_flag=True, help="Leave everything running at the end, and say where it is.")
def demo(keep: bool) -> None:
    """Show METL at work on a stack of its own: services change, the matrix follows, rows come out mapped.

    Takes three minutes, asks nothing, checks every claim that it makes and ends with 1 if one does not hold.
    """
    home = Home(config.home().path / "demo")
    stack = parts(home)
    elsewhere = [part.server.variable for part in stack if part.is_elsewhere]
    if elsewhere:
        raise BadInput(f"The demo runs on parts of its own, but {elsewhere[0]} names another. Unset it and try again.")
    supervisor.down(home, stack, report)
    shutil.rmtree(home.path, ignore_errors=True)
    began = time.monotonic()
    # Before the stack is up: a failed download then leaves nothing running.
    asyncio.run(jars.fetch("spark", lambda text: report("spark", text)))
    with signals.all_interrupt():
        supervisor.up(home, stack, report)
        try:
            left = scenario.run(home, lambda text: click.echo(f"[{time.monotonic() - began:5.1f} s] {text}"), keep=keep)
        except BaseException:
            keep = False
            raise
        finally:
            with signals.shielded():
                if not keep:
                    supervisor.down(home, stack, report)
    if keep:
        _tell_where(home, left)


def _tell_where(home: Home, programs: list[Program]) -> None:
    postgres, kafka, registry, connect = (part.address for part in parts(home))
    metl = f"METL_HOME={home.path} {sys.argv[0]}"
    for what, where in {
        "The matrix": f"psql '{postgres}'",
        "Topics": f"{kafka} (shop.*, crm.*, billing.*, cdm.*, metl.dead)",
        "Registry": f"{registry}/apis/registry/v3/search/artifacts",
        "Connectors": f"{connect}/connectors",
        "Commands": f"{metl} jobs list",
        "Docs": "docs/guide.md tells the same story command by command",
        "Stop it with": f"kill {' '.join(str(program.pid) for program in programs)}; {metl} down",
    }.items():
        click.echo(f"{what + ':':<14} {where}")
