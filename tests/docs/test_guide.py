"""The guide is played word for word on a stack of its own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metl.stack import KINDS
from metl.stack.postgres import binaries
from tests.docs.console import Shell, steps

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    given = {kind.server.variable for kind in KINDS} | {"METL_HOME", "METL_JOB_DSN"}
    environment = {name: value for name, value in os.environ.items() if name not in given}
    programs = [str(Path(sys.executable).parent), str(binaries()), environment["PATH"]]
    opened = Shell(tmp_path, {**environment, "PATH": os.pathsep.join(programs)})
    yield opened
    opened.run("kill $(jobs -p) 2>/dev/null; wait; metl down")
    opened.close()


@pytest.mark.timeout(600)
def test_every_command_of_the_guide(shell: Shell) -> None:
    for step in steps(GUIDE):
        shell.play(step)
