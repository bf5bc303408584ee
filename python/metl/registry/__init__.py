"""The sync from schema registries to the matrix: clients, readers of schemas, state and passes."""
