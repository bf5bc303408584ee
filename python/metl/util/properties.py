"""Java's .properties files, as java.util.Properties reads them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metl.errors import BadInput

BLANK = " \t\f"
#: A name ends at the first of these that no backslash precedes.
NAME = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
ESCAPE = re.compile(r"\\(u.{0,4}|.|$)", re.DOTALL)
CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True)
class Property:
    #: The line that it begins at.
    line: int
    name: str
    #: Null if nothing follows the name, which Java takes for empty.
    value: str | None


def read_properties(file: Path) -> list[Property]:
    """Java reads them as Latin-1, editors write UTF-8: that is tried first, since hardly any other text is valid UTF-8.

    Raises BadInput for what is no such file, OSError if it cannot be read."""
    data = file.read_bytes()
    if b"\0" in data or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(f"{file} is not a text file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return list(parse_properties(text, str(file)))


def parse_properties(text: str, file: str) -> Iterator[Property]:
    for number, line in _logical_lines(text):
        name = NAME.match(line)
        assert name is not None, "a name may be empty"
        separator = SEPARATOR.match(line, name.end())
        assert separator is not None, "it may be empty as well"
        try:
            value = _unescaped(line[separator.end() :]) if separator[0] else None
            yield Property(number, _unescaped(name[0]), value)
        except ValueError:
            raise BadInput(f"Line {number} of {file} has \\u without four hexadecimal digits.") from None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each with the number of its first line. A backslash at the end of a line continues it on the next one."""
    begun, first = "", 0
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        stripped = line.lstrip(BLANK)
        if not begun and (not stripped or stripped[0] in "#!"):
            continue
        first = first if begun else number
        begun += stripped
        if (len(stripped) - len(stripped.rstrip("\\"))) % 2:
            begun = begun[:-1]
        else:
            yield first, begun
            begun = ""
    if begun:
        yield first, begun


def _unescaped(text: str) -> str:
    units = ESCAPE.sub(_character, text)
    # Java writes characters beyond U+FFFF as two.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(escape: re.Match[str]) -> str:
    given = escape[1]
    if given[:1] == "u":
        if not re.fullmatch("u[0-9a-fA-F]{4}", given):
            raise ValueError
        return chr(int(given[1:], 16))
    return CONTROL.get(given, given)


def write_properties(file: Path, text: str) -> None:
    """Java reads them as Latin-1: any other character is written as its number."""
    units = text.encode("utf-16-be")
    characters = (int.from_bytes(units[place : place + 2]) for place in range(0, len(units), 2))
    file.write_text("".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in characters))
