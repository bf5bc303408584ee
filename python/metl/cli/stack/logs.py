"""metl stack logs, metl stack env: what parts log, and where they are."""

import collections
import contextlib
import shlex
import time

import click

from metl import config
from metl.cli.options import limit_option
from metl.errors import BadInput
from metl.stack import parts
from metl.stack.postgres import Postgres


@click.command(short_help="Show the log of a part.")
@click.argument("part")
@limit_option(50, "so many of the last lines", least=0)
@click.option("-f", "--follow", is_flag=True, help="Go on as lines are added, until Ctrl-C.")
def logs(part: str, limit: int, follow: bool) -> None:
    """Show the log of a PART: postgres, kafka, registry or connect.

    \b
    metl stack logs connect -f
    """
    [log] = [each.daemon.log for each in parts(config.home(), (part,)) if each.name == part]
    if not log.exists():
        raise BadInput(f"{part} has no log yet. Start it with: metl up {part}")
    with log.open(errors="replace") as file:
        click.echo("".join(collections.deque(file, maxlen=limit)), nl=False)
        with contextlib.suppress(KeyboardInterrupt):
            while follow:
                click.echo(file.read(), nl=False)
                time.sleep(0.3)


@click.command(short_help="Print the addresses, for a shell.")
def env() -> None:
    """Print the addresses of the local stack for a shell: eval "$(metl stack env)"

    Passwords are not in it; METL_DSN names the file that holds them.
    """
    home = config.home()
    for part in parts(home):
        if part.is_elsewhere or part.daemon.process():
            click.echo(f"export {part.server.variable}={shlex.quote(part.address)}")
        if isinstance(part, Postgres) and part.daemon.process():
            click.echo(f"export METL_JOB_DSN={shlex.quote(part.job_address)}")
