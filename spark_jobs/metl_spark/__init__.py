"""METL's Spark jobs.

mapping       the live mapper, and the mapping that all jobs share
loading       the bulk mapper
warehouse     entity topics as tables
reprocessing  messages mapped once more

runtime       what every job needs
functions     Spark SQL functions in Scala

The mains for spark-submit lie beside this package in a clone, and in the wheel where `python -m metl_spark` says.
"""
