"""The dbt models that derive the dense matrix, and the lineage of their columns."""
