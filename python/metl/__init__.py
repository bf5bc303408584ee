"""METL: a dynamic mapping matrix that carries change streams into a canonical data model."""
