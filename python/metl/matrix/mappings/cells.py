"""The columns, and what keeps spreadsheets from taking names for formulas."""

import re

COLUMNS = ("schema", "version", "attribute", "entity", "entity_version", "entity_attribute")
NAMES = ("schema", "attribute", "entity", "entity_attribute")
#: A cell that begins so is a formula to a spreadsheet, also in full width; an apostrophe before it makes it text.
FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
APOSTROPHE = "'"
ESCAPED = re.compile(f"{APOSTROPHE}[{APOSTROPHE}{re.escape(FORMULA)}]")


def unescape(cell: str) -> str:
    """What was put before a name is taken away; an apostrophe that somebody typed stays."""
    return cell[1:] if ESCAPED.match(cell) else cell
