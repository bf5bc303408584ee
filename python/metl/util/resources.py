"""Files that live at the top of the project and travel inside the wheel."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
CHECKOUT = PACKAGE.parents[1]


def path(name: str) -> Path:
    """`ivy.xml`, say: beside the package in a wheel, at the top level in a checkout."""
    packaged = PACKAGE / name
    return packaged if packaged.exists() else CHECKOUT / name
