"""The live mapper under spark-submit; on this machine: metl map."""

from metl_spark.mapping.job import main
from metl_spark.runtime.submit import run

if __name__ == "__main__":
    run(main)
