"""All that is wrong with input files, in one error."""

from collections.abc import Sequence
from dataclasses import dataclass

from metl.errors import BadInput

SHOWN = 20


@dataclass(frozen=True)
class Problem:
    file: str
    #: Null if it is about the whole file.
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


class InvalidFiles(BadInput):
    """The message shows the first problems; `problems` has all."""

    def __init__(self, problems: Sequence[Problem], consequence: str) -> None:
        self.problems = list(problems)
        shown = [str(problem) for problem in self.problems[:SHOWN]]
        if len(self.problems) > SHOWN:
            shown.append(f"and {len(self.problems) - SHOWN:,} more, which --json lists")
        count = "One thing is" if len(self.problems) == 1 else f"{len(self.problems):,} things are"
        super().__init__(f"{count} wrong, {consequence}.\n" + "\n".join(shown))
