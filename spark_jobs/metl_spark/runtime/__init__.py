"""What every job needs, whatever it does with messages.

options     command-line options that jobs share
settings    the settings that jobs share
limits      where a job begins and ends in each partition
session     the Spark session, with METL's functions
kafka       source and sink
control     the connection to the database: lock, progress, requests to stop
connectors  warnings about connectors whose topics the job reads
supervise   starts the query, restarts it after failures, stops it
progress    what Spark reports of a batch, as the database stores it
failures    errors of Spark and Java as sentences
submit      entry point under spark-submit
"""
