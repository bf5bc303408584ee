"""Types of columns whose values change data capture does not carry exactly, and what becomes of them."""

#: By the name that PostgreSQL gives the type, without its length.
INEXACT: dict[str, str] = {
    "interval": "an infinite one comes as zero",
    "time with time zone": "comes as the time of day at UTC, without its offset",
}
