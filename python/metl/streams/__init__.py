"""Kafka as METL's commands use it: topics, offsets, checkpoints, dead letters, what has to be mapped again."""
