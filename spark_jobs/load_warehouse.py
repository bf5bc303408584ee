"""The warehouse under spark-submit; on this machine: metl warehouse."""

from metl_spark.runtime.submit import run
from metl_spark.warehouse.job import main

if __name__ == "__main__":
    run(main)
