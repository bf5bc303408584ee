"""The `metl` command."""

import logging
import textwrap
from typing import NoReturn

import click

from metl import config
from metl.cli.group import Group
from metl.errors import BadInput, MetlError
from metl.util import extras, signals

#: Of descriptions in the table of variables.
INDENT = 22
#: Every command as a module of metl.cli and the function in it, by the headings of `metl --help`.
SECTIONS = {
    "Every day": {
        "up": "stack.lifecycle.up",
        "status": "stack.lifecycle.status",
        "down": "stack.lifecycle.down",
        "demo": "demo.demo",
        "install": "install.install",
        "sync": "sync.sync",
        "map": "spark.map_",
        "load": "spark.load",
        "warehouse": "spark.warehouse",
    },
    "Sources and the canonical model": {
        "capture": "capture.capture",
        "matrix": "matrix.matrix",
        "entities": "entities.entities",
        "plans": "plans.plans",
    },
    "Streams and tables": {
        "jobs": "jobs.jobs",
        "dead-letters": "dead_letters.dead_letters",
        "streams": "streams.streams",
        "marts": "marts.marts",
    },
    "This machine": {
        "stack": "stack.stack",
    },
}


class Cli(Group):
    """Turns METL's errors into a sentence on stderr and an exit code."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        limit = formatter.width - 6 - max(map(len, self.places))
        for title, places in SECTIONS.items():
            commands = [(name, self.get_command(ctx, name)) for name in places]
            with formatter.section(title):
                formatter.write_dl([(name, each.get_short_help_str(limit)) for name, each in commands if each])

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


EXIT_CODES = """\b
Exit codes:
  0    done
  1    something failed
  2    the command or its input is wrong
  3    the answer is no: mappings would be lost, source and warehouse differ,
       a table cannot be captured, a part does not answer
  130  interrupted (Ctrl-C); 143 terminated (SIGTERM)
"""
COMPLETION = """\b
Completion in your shell, here bash (or zsh, fish):
  eval "$(_METL_COMPLETE=bash_source metl)"
"""


def _environment() -> str:
    """Every variable that METL reads, as a table."""
    lines = ["\b", "Environment:"]
    for variable in (*config.VARIABLES, *config.DEPLOYMENT_VARIABLES):
        default = f" [{variable.default}]" if variable.default else ""
        text = textwrap.wrap(f"{variable.purpose}{default}", 54)
        if len(variable.name) > INDENT - 4:
            lines.append(f"  {variable.name}")
        else:
            text[0] = f"  {variable.name:<{INDENT - 2}}{text[0]}"
        lines += [line if line.startswith("  ") else " " * INDENT + line for line in text]
    return "\n".join(lines)


@click.group(
    cls=Cli,
    package=__name__,
    places={name: place for places in SECTIONS.values() for name, place in places.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\n\n".join((EXIT_CODES, _environment(), COMPLETION)),
)
@click.version_option(package_name=extras.DISTRIBUTION)
def main() -> None:
    """Map the change streams of many databases to one canonical data model.

    \b
    metl up                            start a local stack
    metl capture add shop public.customer
    metl sync --watch                  schema versions into the matrix
    metl matrix suggest                what might map to what
    metl map --topics 'shop\\..*'       map messages, live
    metl status                        how everything is

    metl COMMAND --help has the rest of each, with examples.
    """
    logging.captureWarnings(True)
