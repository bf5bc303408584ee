"""The live mapper, for spark-submit; `metl map` on this machine."""

from metl_spark.mapping.job import main
from metl_spark.runtime.submit import run

if __name__ == "__main__":
    run(main)
