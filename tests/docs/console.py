"""The commands of a Markdown file, played in one shell, and what they should print.

A block marked `console` has commands behind `$ ` and what each prints below it. There, `…` stands for anything within
a line, and on a line of its own for any lines. A block marked `console again` is for what takes a moment: its command
is said again until it prints what it should.
"""

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TIMEOUT = 240.0
BLOCK = re.compile(r"^```console( again)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Step:
    command: str
    line: int
    is_repeated: bool
    expected: list[str] = field(default_factory=list)

    def is_met_by(self, printed: str) -> bool:
        parts = (r"(?:.*\n)*?" if line == "…" else _line(line) for line in self.expected)
        return re.fullmatch("".join(parts), printed) is not None


def _line(expected: str) -> str:
    """Spaces at the end, and how many there are between columns, depend on what else is shown."""
    pieces = (r"\s+".join(map(re.escape, re.split(r"\s+", piece))) for piece in expected.split("…"))
    return r"[^\n]*?".join(pieces) + r"[ \t]*\n"


def steps(file: Path) -> Iterator[Step]:
    text = file.read_text()
    for block in BLOCK.finditer(text):
        number = text[: block.start()].count("\n") + 1
        step: Step | None = None
        for line in block[2].splitlines():
            number += 1
            if line.startswith("$ "):
                if step:
                    yield step
                step = Step(line[2:], number, block[1] is not None)
            elif step and step.command.endswith("\\"):
                step.command += "\n" + line
            else:
                assert step, f"line {number} comes before any command"
                step.expected.append(line)
        if step:
            yield step


class Shell:
    """A bash that keeps its folder and variables from command to command."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def play(self, step: Step) -> None:
        end = time.monotonic() + TIMEOUT
        while not step.is_met_by(printed := self.run(step.command)):
            wanted = "\n".join(step.expected)
            assert step.is_repeated and time.monotonic() < end, (
                f"line {step.line}: $ {step.command}\nprinted\n{printed}\ninstead of\n{wanted}"
            )
            time.sleep(0.5)

    def run(self, command: str) -> str:
        assert self._process.stdin and self._process.stdout
        end = "--- end of command ---"
        self._process.stdin.write(f"{command}\necho '{end}'\n")
        self._process.stdin.flush()
        printed = ""
        for line in self._process.stdout:
            if line.rstrip("\n").endswith(end):
                return printed + (line.removesuffix(f"{end}\n"))
            printed += line
        raise AssertionError(f"the shell ended: {printed}")

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)
