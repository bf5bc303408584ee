"""A stack of its own, driven by the command line as a user drives it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from metl.stack import KINDS


class Metl:
    """The `metl` command in a METL_HOME of its own, without addresses from outside."""

    def __init__(self, home: Path) -> None:
        self.home = home
        given = {kind.server.variable for kind in KINDS} | {f"METL_{kind.name.upper()}_PORT" for kind in KINDS}
        self.environment = {name: value for name, value in os.environ.items() if name not in given}
        self.environment["METL_HOME"] = str(home)

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "metl", *words],
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A group of its own, as a terminal makes one: signals to it reach all that is in it.
            start_new_session=True,
        )

    def __call__(self, *words: str, code: int = 0, **environment: str) -> str:
        """Runs it to its end and returns what it printed, errors included."""
        process = self.start(*words, **environment)
        out, err = process.communicate(timeout=240)
        assert process.returncode == code, f"metl {' '.join(words)} exited with {process.returncode}:\n{out}{err}"
        assert "Traceback" not in err
        return out + err

    def status(self, code: int = 0) -> dict[str, Any]:
        answer = json.loads(self("status", "--json", code=code))
        return {"all": answer, **{part["name"]: part for part in answer["parts"]}}

    def processes(self) -> list[psutil.Process]:
        """Every live process that has anything to do with this METL_HOME."""
        found = []
        for process in psutil.process_iter():
            try:
                mentions = [*process.cmdline(), process.cwd()]
                if process.status() != psutil.STATUS_ZOMBIE and any(str(self.home) in text for text in mentions):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def ports(self) -> set[int]:
        """Every port that this METL_HOME has chosen."""
        lines = (self.home / "ports.properties").read_text().split()
        return {int(line.split("=")[1]) for line in lines}


def listening() -> set[int]:
    found = psutil.net_connections("tcp")
    return {each.laddr.port for each in found if each.status == psutil.CONN_LISTEN and each.laddr}


@pytest.fixture
def metl(tmp_path: Path) -> Iterator[Metl]:
    command = Metl(tmp_path / "home")
    yield command
    command("down")
    assert command.processes() == []
