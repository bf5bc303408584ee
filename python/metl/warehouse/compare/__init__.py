"""Compares the rows that `metl entities sql` selects from a source with those of the warehouse.

columns      which columns can be compared
hashes       64-bit hashes of values, equal on two servers if the values are
sides        the rows of one side: checksums by bucket, hashes by row, values by key
differences  rows that differ, fetched again to tell lost rows from rows in flight
summary      how many rows differ, how, and why
tables       one schema's table with the warehouse's
orphans      warehouse rows and values that no newest version feeds
"""
