"""`python -m metl` is the same as `metl`."""

from metl.cli import main

main()
