"""METL's Spark jobs."""
