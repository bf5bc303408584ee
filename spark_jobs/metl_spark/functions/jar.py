"""The jar of METL's Spark SQL functions."""

from pathlib import Path

from metl.jvm import jars
from metl.jvm.scala import Jar

FUNCTIONS_JAR = Jar("metl-functions.jar", Path(__file__).parent, jars.spark_jars)
