"""Java's .properties files."""

from pathlib import Path


def write_properties(file: Path, text: str) -> None:
    """Java reads them as Latin-1: any other character is written as its number."""
    units = text.encode("utf-16-be")
    characters = (int.from_bytes(units[place : place + 2]) for place in range(0, len(units), 2))
    file.write_text("".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in characters))
