"""The `metl` command."""

import logging
from typing import NoReturn

import click

from metl import signals
from metl.cli import dbt, demo, fetch, install, jobs, lineage, live, sql, stack
from metl.errors import MetlError


class Cli(click.Group):
    """Turns METL's errors into a sentence on stderr and an exit code."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except MetlError as error:
            _fail(ctx, str(error), error.exit_code)
        except OSError as error:
            _fail(ctx, f"{error.filename or 'A file'}: {error.strerror}.", 1)
        except KeyboardInterrupt:
            signals.ignore()
            _fail(ctx, "Interrupted. What this command had started was stopped.", 130)


def _fail(context: click.Context, message: str, exit_code: int) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    context.exit(exit_code)


@click.group(cls=Cli, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="metl")
def main() -> None:
    """METL maps the change streams of many databases to one canonical data model.

    \b
    Exit codes: 0 done, 1 something failed, 2 the command or its input is wrong.
    Environment:
      METL_HOME      where the local stack keeps its data (default: .metl in this folder)
      METL_CACHE     where downloaded jars are kept (default: ~/.cache/metl)
      METL_DSN       a PostgreSQL to use instead of the local one
      METL_JOB_DSN   the same as a member of metl_job, for `metl map`
      METL_KAFKA     a Kafka to use instead, host:port
      METL_REGISTRY  an Apicurio registry to use instead, http://host:port
      METL_CONNECT   a Kafka Connect to use instead, http://host:port
      METL_POSTGRES_PORT, METL_KAFKA_PORT, METL_KAFKA_CONTROLLER_PORT, METL_REGISTRY_PORT,
      METL_REGISTRY_MANAGEMENT_PORT, METL_CONNECT_PORT
                     ports for the local ones (default: a free one, remembered)
    """
    logging.captureWarnings(True)


for command in (
    *(stack.up, stack.down, stack.status, stack.logs, stack.env, fetch.fetch),
    *(install.install, dbt.dbt, lineage.lineage, sql.sql, live.map_, live.load, live.warehouse, jobs.jobs, demo.demo),
):
    main.add_command(command)
