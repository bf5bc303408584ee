"""python -m metl_spark map_stream: the file to give to spark-submit."""

import click

from metl.util import resources

MAINS = {file.stem: file for file in sorted(resources.path("spark_jobs").glob("*.py"))}


@click.command()
@click.argument("main", type=click.Choice(sorted(MAINS)))
def path(main: str) -> None:
    """Print the path of a job's main file, for spark-submit."""
    click.echo(MAINS[main])


if __name__ == "__main__":
    path(prog_name="python -m metl_spark")
