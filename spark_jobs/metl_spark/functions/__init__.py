"""Spark SQL functions in Scala that read JSON and copy its bytes.

columns   calls them from Python, as columns
jar       the jar that they are compiled into
"""
