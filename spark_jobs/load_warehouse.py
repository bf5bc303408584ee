"""Entity topics as tables, for spark-submit; `metl warehouse` on this machine."""

from metl_spark.runtime.submit import run
from metl_spark.warehouse.job import main

if __name__ == "__main__":
    run(main)
