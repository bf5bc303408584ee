"""Entity topics as tables: the warehouse.

settings  what the warehouse is configured with
job       its command and its query
records   the parts of a record, as columns of a staging table
merge     batches into PostgreSQL, by COPY and one function that merges
progress  what a batch did, as the database stores it
parquet   the tables as files
"""
