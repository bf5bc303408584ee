"""metl demo: the main path end to end."""

import shutil
import sys
import time

import click

from metl import demo as story
from metl import signals
from metl.cli.stack import report
from metl.errors import BadInput
from metl.home import Home
from metl.stack import parts, supervisor


@click.command()
@click.option("--keep", is_flag=True, help="Leave everything running at the end.")
def demo(keep: bool) -> None:
    """Show the main path end to end on a stack of its own, check it, and clean up."""
    home = Home(Home.from_environment().path / "demo")
    stack = parts(home)
    elsewhere = [part.variable for part in stack if part.is_elsewhere]
    if elsewhere:
        raise BadInput(f"The demo runs on parts of its own, but {elsewhere[0]} names another. Unset it and try again.")
    supervisor.down(home, stack, report)
    shutil.rmtree(home.path, ignore_errors=True)
    began = time.monotonic()
    story.fetch_jars(lambda text: report("spark", text))
    with signals.all_interrupt():
        supervisor.up(home, stack, report)
        try:
            story.play(home, lambda text: click.echo(f"[{time.monotonic() - began:5.1f} s] {text}"))
        except BaseException:
            keep = False
            raise
        finally:
            with signals.undisturbed():
                if not keep:
                    supervisor.down(home, stack, report)
    if keep:
        click.echo(f"Everything runs on. Its addresses:  METL_HOME={home.path} {sys.argv[0]} env")
        click.echo(f"Stop it with:                       METL_HOME={home.path} {sys.argv[0]} down")
