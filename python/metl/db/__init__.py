"""METL's database: connections and installation."""
