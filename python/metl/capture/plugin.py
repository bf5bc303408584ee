"""Debezium's plugin folder, with METL's converter in it, which keeps values that Debezium would alter."""

import shutil
from pathlib import Path

from metl.jvm import jars, scala

CONNECTOR = "debezium-connector-postgres"
#: A connector's settings name it.
CONVERTER_CLASS = "metl.capture.ExactValues"
CONVERTER = scala.Jar(
    "metl-converter.jar", Path(__file__).with_name("converter"), lambda: jars.folder("debezium") / CONNECTOR
)


def add_converter(plugin: Path) -> None:
    """Into the folder of Debezium's own jars: both need the same class loader."""
    for jar in (CONVERTER.build(), scala.scala_library()):
        shutil.copy(jar, plugin / jar.name)
