"""Entities as tables: the SQL of initial loads, and the comparison with the sources."""
