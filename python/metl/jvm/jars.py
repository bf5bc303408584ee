"""The jars of ivy.xml: resolved once by Ivy, kept in the user's cache, checked at every use.

A configuration of Ivy is one folder, `<cache>/<digest of ivy.xml>/<configuration>/`. It is renamed into place with a
manifest of its files and sizes, so that a truncated file is noticed and the folder fetched again.
"""

import asyncio
import contextlib
import errno
import hashlib
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
from metl.util import extras, process, resources

MANIFEST = "manifest.json"


def configurations() -> list[str]:
    tree = ElementTree.parse(resources.path("ivy.xml"))
    return [conf.attrib["name"] for conf in tree.iterfind("configurations/conf")]


def folder(configuration: str) -> Path:
    digest = hashlib.sha256(resources.path("ivy.xml").read_bytes()).hexdigest()[:12]
    return config.cache_folder() / digest / configuration


def find_damage(jar_folder: Path) -> str | None:
    """What is wrong with a fetched folder; None if it is complete."""
    try:
        sizes: dict[str, int] = dict(json.loads((jar_folder / MANIFEST).read_text()))
    except FileNotFoundError:
        return "not fetched yet"
    except (OSError, ValueError, TypeError):
        return f"{jar_folder / MANIFEST} is not readable"
    for name, size in sizes.items():
        file = jar_folder / name
        if not file.is_file():
            return f"{file} is gone"
        if (actual := file.stat().st_size) != size:
            return f"{file} has {actual} bytes instead of {size}"
    return None


async def fetch(configuration: str, say: Callable[[str], None]) -> Path:
    """The folder with the jars of one configuration, downloaded if it is missing or damaged."""
    target = folder(configuration)
    problem = find_damage(target)
    if problem is None:
        return target
    if target.exists():
        say(f"the cache is damaged ({problem}), fetching {configuration} again")
    else:
        say(f"fetching the jars of {configuration}, the first time only")
    try:
        await _download(configuration, target)
    except OSError as error:
        raise MetlError(
            f"The jars of {configuration} cannot be kept in {config.cache_folder()}: {error.strerror}. "
            "Set METL_CACHE to a folder you can write to, on a disk with half a gigabyte free."
        ) from None
    problem = find_damage(target)
    if problem is not None:
        raise MetlError(f"The jars of {configuration} were fetched, but {problem}. Delete {target} and try again.")
    return target


async def _download(configuration: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{configuration}-", dir=target.parent) as scratch:
        fresh = Path(scratch, configuration)
        await _resolve(configuration, Path(scratch, "ivy"), fresh)
        await asyncio.to_thread(_unpack, fresh)
        shutil.rmtree(target, ignore_errors=True)
        # Another process may have renamed its folder first; fetch() then checks that one.
        with contextlib.suppress(OSError):
            fresh.rename(target)


def spark_jars() -> Path:
    """The folder of Spark's own jars: of SPARK_HOME, or else of the package pyspark."""
    if "SPARK_HOME" in os.environ:
        return Path(os.environ["SPARK_HOME"]) / "jars"
    return extras.folder("pyspark") / "jars"


async def _resolve(configuration: str, ivy_cache: Path, target: Path) -> None:
    ivy = spark_jars() / "*"
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
    # Without stack traces.
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return "\n".join(lines[-12:])


def _unpack(jar_folder: Path) -> None:
    """Replaces archives by their contents and writes the manifest."""
    for archive in jar_folder.glob("*.tar.gz"):
        with tarfile.open(archive) as content:
            content.extractall(jar_folder, filter="data")
        archive.unlink()
    sizes = {str(file.relative_to(jar_folder)): file.stat().st_size for file in jar_folder.rglob("*") if file.is_file()}
    (jar_folder / MANIFEST).write_text(json.dumps(sizes, indent=0, sort_keys=True))
