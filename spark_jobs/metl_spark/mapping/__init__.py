"""How the live mapper maps: DataFrame -> DataFrame steps between its sources and sinks.

matrix      what the database knows, as one table to look things up in
restore     dead letters that are sent again, as the messages that they were
identify    which schema version a message is of, and the row in it
look_up     what that version maps to, or why the message cannot be mapped
frame       what all records of a message share
map_values  the entity's values, and only those
route       where each record goes
count       what a batch did

Each of them is made of columns alone; functions has those that Spark does not bring.
"""
