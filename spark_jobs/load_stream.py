"""The bulk mapper, for spark-submit; `metl load` on this machine."""

from metl_spark.loading.job import main
from metl_spark.runtime.submit import run

if __name__ == "__main__":
    run(main)
