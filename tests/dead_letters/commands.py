"""Runs METL's commands in the tests' own process: short ones need no other."""

import subprocess

from click.testing import CliRunner

from metl.cli import main
from tests.live.running import Place, environment


def run(place: Place, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    done = CliRunner().invoke(main, words, env=environment(place) | changes)
    # A traceback is a bug of METL's, and a failure here.
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)
