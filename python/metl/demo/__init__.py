"""The whole of METL at work, in three minutes, on a local stack.

services    three small services, each with a database and a connector of its own
traffic     what goes on in them meanwhile
programs    the commands that run beside the story
topics      what is in Kafka
accounts    whether every change of a row is accounted for
story       what happens, and what METL makes of it
"""
