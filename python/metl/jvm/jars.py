"""The Java parts: resolved once by Ivy from ivy.xml, kept in the user's cache, checked at every use.

A configuration is one folder `<cache>/<digest of ivy.xml>/<configuration>/`. It appears whole or
not at all, with a manifest of its files and sizes, so that a truncated one is noticed and
fetched again.
"""

import asyncio
import contextlib
import errno
import hashlib
import importlib.util
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from metl import config
from metl.errors import MetlError
from metl.jvm import java
from metl.util import process, resources

MANIFEST = "manifest.json"


def configurations() -> list[str]:
    tree = ElementTree.parse(resources.path("ivy.xml"))
    return [conf.attrib["name"] for conf in tree.iterfind("configurations/conf")]


def folder(configuration: str) -> Path:
    digest = hashlib.sha256(resources.path("ivy.xml").read_bytes()).hexdigest()[:12]
    return config.cache_folder() / digest / configuration


def damage(where: Path) -> str | None:
    """What is wrong with a fetched folder; None if it is whole."""
    try:
        sizes: dict[str, int] = dict(json.loads((where / MANIFEST).read_text()))
    except FileNotFoundError:
        return "not fetched yet"
    except (OSError, ValueError, TypeError):
        return f"{where / MANIFEST} is not readable"
    for name, size in sizes.items():
        file = where / name
        found = file.stat().st_size if file.is_file() else None
        if found != size:
            return f"{file} has {found} bytes instead of {size}" if found is not None else f"{file} is gone"
    return None


async def fetch(configuration: str, say: Callable[[str], None]) -> Path:
    """The folder with the jars of one configuration, downloaded if it is not there or damaged."""
    where = folder(configuration)
    problem = damage(where)
    if problem is None:
        return where
    if where.exists():
        say(f"the cache is damaged ({problem}), fetching {configuration} again")
    else:
        say(f"fetching the jars of {configuration}, the first time only")
    try:
        await _fetch_anew(configuration, where)
    except OSError as error:
        raise MetlError(
            f"The jars of {configuration} cannot be kept in {config.cache_folder()}: {error.strerror}. "
            "Set METL_CACHE to a folder you can write to, on a disk with half a gigabyte free."
        ) from None
    problem = damage(where)
    if problem is not None:
        raise MetlError(f"The jars of {configuration} were fetched, but {problem}. Delete {where} and try again.")
    return where


async def _fetch_anew(configuration: str, where: Path) -> None:
    where.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{configuration}-", dir=where.parent) as scratch:
        fresh = Path(scratch, configuration)
        await _resolve(configuration, Path(scratch, "ivy"), fresh)
        await asyncio.to_thread(_unpack, fresh)
        shutil.rmtree(where, ignore_errors=True)
        # If another METL was faster, the check below tells whether its folder is whole.
        with contextlib.suppress(OSError):
            fresh.rename(where)


def of_spark() -> Path:
    """The jars of Spark itself: of the one that runs us, or else of the package."""
    if "SPARK_HOME" in os.environ:
        return Path(os.environ["SPARK_HOME"]) / "jars"
    pyspark = importlib.util.find_spec("pyspark")
    assert pyspark is not None and pyspark.origin is not None, "pyspark is a dependency of METL"
    return Path(pyspark.origin).parent / "jars"


async def _resolve(configuration: str, ivy_cache: Path, target: Path) -> None:
    ivy = of_spark() / "*"
    try:
        await process.run(
            "Ivy",
            [
                *(java.machine_java(), "-cp", ivy, "org.apache.ivy.Main"),
                *("-ivy", resources.path("ivy.xml"), "-cache", ivy_cache, "-confs", configuration),
                *("-retrieve", target / "[artifact]-[revision].[ext]"),
            ],
        )
    except process.ToolFailed as error:
        if "No space left on device" in error.output:
            raise OSError(errno.ENOSPC, "No space left on device") from None
        raise MetlError(
            f"The jars of {configuration} could not be fetched. Is the Maven repository reached from here? "
            f"Ivy said:\n{_last_lines(error.output)}"
        ) from None


def _last_lines(text: str) -> str:
    complaints = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return "\n".join(complaints[-12:])


def _unpack(where: Path) -> None:
    """Replaces archives by their contents and writes the manifest."""
    for archive in where.glob("*.tar.gz"):
        with tarfile.open(archive) as content:
            content.extractall(where, filter="data")
        archive.unlink()
    sizes = {str(file.relative_to(where)): file.stat().st_size for file in where.rglob("*") if file.is_file()}
    (where / MANIFEST).write_text(json.dumps(sizes, indent=0, sort_keys=True))
