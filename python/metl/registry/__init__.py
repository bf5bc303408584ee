"""From the schema registry to the matrix: what it has, how it is read, and what of it is new."""
