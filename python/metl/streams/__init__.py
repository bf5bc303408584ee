"""Kafka for METL's commands: topics, offsets, checkpoints, dead letters, and ranges to reprocess."""
