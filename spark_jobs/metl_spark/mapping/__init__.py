"""The live mapper, and the mapping that all jobs share: DataFrame -> DataFrame steps between source and sink.

settings      what the jobs are configured with
job           the live mapper: its command and its query

matrix        the matrix as a table to look up, read once for each batch
restore       replayed dead letters, as the messages that they were
identify      the schema version of a message, and the row in it
look_up       the entities that the version maps to
dead_letters  which messages cannot be mapped, why, and the headers that say so
frame         what all records of a message share
map_values    the entity's values, and only those
route         the topic and value of each record
count         metrics of a batch

progress      these metrics as the database stores them
warm_up       warms up Spark's planner

The steps are made of columns alone; metl_spark.functions has those that Spark lacks.
"""
