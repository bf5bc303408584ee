"""Files at the top of the project, which the wheel holds as well."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
CHECKOUT = PACKAGE.parents[1]


def path(name: str) -> Path:
    """Of `ivy.xml`, for example: inside the package in a wheel, at the top in a checkout."""
    packaged = PACKAGE / name
    return packaged if packaged.exists() else CHECKOUT / name
