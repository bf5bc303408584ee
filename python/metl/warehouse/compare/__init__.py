"""The rows that `metl sql` selects from a source beside those of the warehouse.

columns    which of them can be compared
hashes     values as numbers that two servers make alike
sides      the rows of either end: sums by bucket, hashes by row, values by key
looks      rows that differ, and whether they still do a moment later
tally      how many rows differ, how, and why
tables     one schema's table beside the warehouse's
leftovers  what the warehouse has that no newest version feeds
"""
