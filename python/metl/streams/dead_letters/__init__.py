"""Dead letters: read from their topic into the database, and sent again.

read     a record of Kafka as a letter, its own headers apart from what was written of it
send     a letter as a record of the topic of replays
collect  from the topic of dead letters into the database, and back when a new state knows them
"""
