"""Column types whose values change data capture does not carry exactly, and how they arrive."""

#: By the name that format_type gives without a modifier.
INEXACT: dict[str, str] = {
    "interval": "an infinite one comes as zero",
    "time with time zone": "comes as the time of day at UTC, without its offset",
}
