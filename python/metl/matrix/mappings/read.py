"""A file to lines, with every mistake at once."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from metl.errors import BadInput
from metl.matrix.mappings.cells import COLUMNS, NAMES, unescape
from metl.util.problems import Problem

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# What is no UTF-8 is read as these, so that the lines around it can be looked at all the same.
UNREADABLE = re.compile("[\udc80-\udcff]")


@dataclass
class Lines:
    """What a file says, by column; the numbers are those of the lines in which its records begin."""

    file: str
    numbers: list[int] = field(default_factory=list)
    cells: tuple[list[str], ...] = field(default_factory=lambda: tuple([] for _ in COLUMNS))
    problems: list[Problem] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.numbers)

    def complain(self, number: int, said: str) -> None:
        self.problems.append(Problem(self.file, number, said))

    def take(self, number: int, record: Sequence[str]) -> None:
        """The cells of a record in the order of COLUMNS."""
        self.numbers.append(number)
        for name, column, cell in zip(COLUMNS, self.cells, record, strict=True):
            column.append(unescape(cell) if name in NAMES else cell.strip())


def read(data: bytes, file: str, watch: Callable[[Sequence[str]], Iterator[str]] = iter) -> Lines:
    """`watch` is handed the lines of the text and gives them back one by one."""
    text = _decoded(data, file)
    # str.splitlines() would also split at characters that names may have.
    source = list(io.StringIO(text, newline=""))
    if not text.strip():
        raise BadInput(f"{file} is empty. Its first line has to be: {','.join(COLUMNS)}")
    delimiter, order = _header(source[0], file)
    lines = Lines(file)
    for number, record in _records(lines, watch(source), delimiter):
        joined = "".join(record)
        if number == 1 or not joined:
            continue
        if len(record) != len(COLUMNS):
            lines.complain(number, f"There are {len(record)} columns instead of {len(COLUMNS)}.")
        elif UNREADABLE.search(joined):
            lines.complain(number, "This is not UTF-8. Save the file as CSV in UTF-8.")
        elif "\0" in joined:
            lines.complain(number, "There is a null character, which no name has.")
        else:
            lines.take(number, [record[place] for place in order])
    return lines


def _decoded(data: bytes, file: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadInput(f"{file} is UTF-16. Save it as CSV in UTF-8.")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="surrogateescape")


def _header(line: str, file: str) -> tuple[str, list[int]]:
    """What separates the columns, and where each of them is."""
    for delimiter in DELIMITERS:
        names = [name.strip().lower() for name in next(csv.reader([line], delimiter=delimiter), [])]
        if sorted(names) == sorted(COLUMNS):
            return delimiter, [names.index(column) for column in COLUMNS]
    shown = UNREADABLE.sub("?", line.strip()[:100])
    raise BadInput(
        f"The first line of {file} is {shown!r}. It has to name the columns {', '.join(COLUMNS)}, "
        "separated by commas, semicolons or tabs."
    )


def _records(lines: Lines, source: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each with the line in which it begins. After a mistake the next line begins a record again."""
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            yield number, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines.complain(number, _quotes(str(error)))


def _quotes(said: str) -> str:
    if said.startswith(("unexpected end of data", "field larger")):
        return "A quote that is opened here is not closed."
    return f"The quotes are not right: {said}. A quote inside of quotes is written twice."
