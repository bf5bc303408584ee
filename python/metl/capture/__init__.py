"""Change data capture of PostgreSQL databases: Debezium connectors, their settings, publications and slots."""
