"""`-p tests.lint`: `make lint` beside the tests. What it finds is an error of theirs."""

import subprocess
import tempfile
from typing import IO

import pytest


class Lint:
    def __init__(self) -> None:
        self._output: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed by its end
        # A Ctrl-C at the terminal reaches only us.
        self._process = subprocess.Popen(
            ["make", "--no-print-directory", "--assume-old=.venv/.ready", "lint"],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.INTERRUPTED or self._process.wait() == 0:
            return
        self._output.seek(0)
        found = pytest.TestReport("make lint", ("Makefile", None, "lint"), {}, "failed", self._output.read(), "setup")
        session.config.hook.pytest_runtest_logreport(report=found)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self) -> None:
        self._process.terminate()
        self._process.wait()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Lint())
