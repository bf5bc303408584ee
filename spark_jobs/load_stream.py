"""The bulk mapper under spark-submit; on this machine: metl load."""

from metl_spark.loading.job import main
from metl_spark.runtime.submit import run

if __name__ == "__main__":
    run(main)
