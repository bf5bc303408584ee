"""How spark-submit runs a job."""

import os

import click

from metl.errors import MetlError


def run(main: click.Command) -> None:
    """A user's mistake ends in a sentence and its exit code."""
    try:
        main()
    except MetlError as error:
        click.echo(f"Error: {error}", err=True)
        # spark-submit passes on what the process ends with; a plain exit waits for threads of py4j.
        os._exit(error.exit_code)
