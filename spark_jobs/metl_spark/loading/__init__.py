"""The bulk mapper: the mapping of metl_spark.mapping, set up for a backlog.

settings  what a load is configured with
job       its command and its query
limits    where it begins and ends, from options to offsets
offsets   the offsets of topics in Kafka
preview   how many messages it would read
bar       progress and summary on the terminal
"""
