"""The `metl` command."""

import importlib
import logging
from typing import Any, NoReturn

import click

from metl.errors import BadInput, MetlError
from metl.util import extras, signals
from metl.util.nearest import nearest

#: Every command as a module of metl.cli and the function in it, by the headings of `metl --help`.
SECTIONS = {
    "The local stack": [
        "stack.up",
        "stack.status",
        "stack.logs",
        "stack.env",
        "stack.down",
        "fetch.fetch",
        "capture.capture",
        "tail.tail",
        "demo.demo",
    ],
    "The matrix": [
        "install.install",
        "sync.sync",
        "cdm.cdm",
        "mappings.import_",
        "mappings.export",
        "schemas.schemas",
        "entities.entities",
        "block.block",
        "suggest.suggest",
    ],
    "Being asked before mappings are lost": [
        "notices.notices",
        "plans.plans",
        "policy.policy",
        "simulate.simulate",
    ],
    "Looking": [
        "search.search",
        "feeds.feeds",
        "feeds.fed_by",
        "coverage.coverage",
        "progression.progression",
        "states.states",
        "states.diff",
    ],
    "The marts, initial loads and their proof": [
        "dbt.dbt",
        "lineage.lineage",
        "sql.sql",
        "initial_load.initial_load",
        "compare.compare_",
        "dbt_source.dbt_source",
    ],
    "Jobs": [
        "live.map_",
        "live.load",
        "live.warehouse",
        "jobs.jobs",
        "dead.dead",
        "offsets.offsets",
        "snapshot.snapshot",
        "reprocess.reprocess",
        "diff_replay.diff_replay",
    ],
}
PLACES = {
    place.rpartition(".")[2].strip("_").replace("_", "-"): place for places in SECTIONS.values() for place in places
}


class Cli(click.Group):
    """Loads a command when it is asked for, and turns METL's errors into a sentence on stderr and an exit code."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(PLACES)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PLACES:
            return None
        module, _, function = PLACES[cmd_name].rpartition(".")
        command: click.Command = getattr(importlib.import_module(f"metl.cli.{module}"), function)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message}{nearest(args[0], PLACES)}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = {PLACES[name]: (name, self.get_command(ctx, name)) for name in PLACES}
        limit = formatter.width - 6 - max(map(len, PLACES))
        for title, places in SECTIONS.items():
            with formatter.section(title):
                shown = [commands[place] for place in places]
                formatter.write_dl([(name, each.get_short_help_str(limit)) for name, each in shown if each])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except MetlError as error:
            _fail(ctx, str(error), error.exit_code)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in extras.EXTRAS:
                raise
            _fail(ctx, extras.missing(package), BadInput.exit_code)
        except UnicodeEncodeError as error:
            _fail(ctx, f"{error.object!r} is not text.", 2)
        except BrokenPipeError:
            # Whoever read us has seen enough.
            raise
        except OSError as error:
            _fail(ctx, f"{error.filename or 'A file'}: {error.strerror}.", 1)
        except KeyboardInterrupt:
            signals.ignore()
            _fail(ctx, "Interrupted. What this command had started was stopped.", 130)


def _fail(context: click.Context, message: str, exit_code: int) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    context.exit(exit_code)


ENVIRONMENT = """\b
Exit codes: 0 done, 1 something failed, 2 the command or its input is wrong,
            3 source and warehouse differ (metl compare),
            130 interrupted (Ctrl-C), 143 terminated (SIGTERM).
Environment:
  METL_HOME      data of the local stack (default: .metl in this folder)
  METL_CACHE     downloaded jars (default: ~/.cache/metl)
  METL_DSN       a PostgreSQL to use instead of the local one
  METL_JOB_DSN   the same as a member of metl_job, for `metl map`
  METL_KAFKA     a Kafka to use instead, host:port
  METL_REGISTRY  an Apicurio registry to use instead, http://host:port
  METL_CONNECT   a Kafka Connect to use instead, http://host:port
  METL_POSTGRES_PORT, METL_KAFKA_PORT, METL_KAFKA_CONTROLLER_PORT,
  METL_REGISTRY_PORT, METL_REGISTRY_MANAGEMENT_PORT, METL_CONNECT_PORT
                 ports of the local ones (default: a free one, remembered)
  METL_PORTS     range from which free ports are chosen, such as 21000-21999
"""


@click.group(
    cls=Cli,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=ENVIRONMENT,
)
@click.version_option(package_name=extras.DISTRIBUTION)
def main() -> None:
    """METL maps the change streams of many databases to one canonical data model.

    metl COMMAND --help has the rest of each, with examples.
    """
    logging.captureWarnings(True)
