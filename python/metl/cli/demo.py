"""metl demo: the main path end to end."""

import shutil
import time

import click

from metl import demo as story
from metl.cli.display import console
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
    supervisor.up(home, stack, report)
    try:
        story.play(home, lambda text: console.print(f"[{time.monotonic() - began:5.1f} s] {text}", markup=False))
    except BaseException:
        supervisor.down(home, stack, report)
        raise
    if keep:
        console.print(f"Everything still runs. Its addresses: METL_HOME={home.path} metl env; stop it with metl down.")
    else:
        supervisor.down(home, stack, report)
