"""Column names, and escaping against formula injection."""

import re

COLUMNS = ("schema", "version", "attribute", "entity", "entity_version", "entity_attribute")
TEXT_COLUMNS = ("schema", "attribute", "entity", "entity_attribute")
#: Spreadsheets evaluate a cell that begins with one of these, full-width forms included, unless an apostrophe precedes.
FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
APOSTROPHE = "'"
ESCAPED = re.compile(f"{APOSTROPHE}[{APOSTROPHE}{re.escape(FORMULA)}]")


def unescape(cell: str) -> str:
    """Remove the escaping apostrophe; an apostrophe that belongs to the name stays."""
    return cell[1:] if ESCAPED.match(cell) else cell
