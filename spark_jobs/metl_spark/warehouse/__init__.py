"""How entity topics become tables: DataFrame -> DataFrame steps, and the sink.

records   what a record says, as the columns of a staging table
merge     batches into PostgreSQL, by COPY and one function that merges
progress  what a batch did
parquet   the tables as files
"""
