"""Entry point of a job under spark-submit."""

import os

import click

from metl.errors import MetlError


def run(main: click.Command) -> None:
    """An error of METL's ends in its sentence and exit code."""
    try:
        main()
    except MetlError as error:
        click.echo(f"Error: {error}", err=True)
        # spark-submit passes on the exit code of the process; a plain exit would wait for threads of py4j.
        os._exit(error.exit_code)
