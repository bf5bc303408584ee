"""Parse a CSV file to lines, collecting every problem instead of stopping at the first."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from metl.errors import BadInput
from metl.matrix.csv_mappings.format import COLUMNS, TEXT_COLUMNS, unescape
from metl.util.problems import Problem

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# surrogateescape decodes invalid UTF-8 to these, so that the lines around it can still be checked.
INVALID_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass
class Lines:
    """The parsed cells, column by column. `numbers` are the line numbers at which the records begin."""

    file: str
    numbers: list[int] = field(default_factory=list)
    cells: tuple[list[str], ...] = field(default_factory=lambda: tuple([] for _ in COLUMNS))
    problems: list[Problem] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.numbers)

    def add_problem(self, number: int, message: str) -> None:
        self.problems.append(Problem(self.file, number, message))

    def append(self, number: int, record: Sequence[str]) -> None:
        """The cells of `record` are in the order of COLUMNS."""
        self.numbers.append(number)
        for name, column, cell in zip(COLUMNS, self.cells, record, strict=True):
            column.append(unescape(cell) if name in TEXT_COLUMNS else cell.strip())


def parse(data: bytes, file: str, track: Callable[[Sequence[str]], Iterator[str]] = iter) -> Lines:
    """`track` wraps the iteration over the lines of the text, to show progress."""
    text = _decode(data, file)
    # str.splitlines() would also split at characters that names may contain.
    source = list(io.StringIO(text, newline=""))
    if not text.strip():
        raise BadInput(f"{file} is empty. Its first line has to be: {','.join(COLUMNS)}")
    delimiter, column_order = _parse_header(source[0], file)
    lines = Lines(file)
    for number, record in _records(lines, track(source), delimiter):
        joined = "".join(record)
        if number == 1 or not joined:
            continue
        if len(record) != len(COLUMNS):
            lines.add_problem(number, f"There are {len(record)} columns instead of {len(COLUMNS)}.")
        elif INVALID_UTF8.search(joined):
            lines.add_problem(number, "This is not UTF-8. Save the file as CSV in UTF-8.")
        elif "\0" in joined:
            lines.add_problem(number, "There is a null character, which no name has.")
        else:
            lines.append(number, [record[index] for index in column_order])
    return lines


def _decode(data: bytes, file: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadInput(f"{file} is UTF-16. Save it as CSV in UTF-8.")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="surrogateescape")


def _parse_header(line: str, file: str) -> tuple[str, list[int]]:
    """The delimiter, and the index of each of COLUMNS in a record."""
    for delimiter in DELIMITERS:
        names = [name.strip().lower() for name in next(csv.reader([line], delimiter=delimiter), [])]
        if sorted(names) == sorted(COLUMNS):
            return delimiter, [names.index(column) for column in COLUMNS]
    excerpt = INVALID_UTF8.sub("?", line.strip()[:100])
    raise BadInput(
        f"The first line of {file} is {excerpt!r}. It has to name the columns {', '.join(COLUMNS)}, "
        "separated by commas, semicolons or tabs."
    )


def _records(lines: Lines, source: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line number at which it begins. After a CSV error the next line begins a new record."""
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            yield number, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines.add_problem(number, _quoting_problem(str(error)))


def _quoting_problem(error: str) -> str:
    if error.startswith(("unexpected end of data", "field larger")):
        return "A quote that is opened here is not closed."
    return f"The quotes are not right: {error}. A quote inside of quotes is written twice."
