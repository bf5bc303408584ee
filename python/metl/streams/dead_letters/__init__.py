"""Dead letters: collected from their topic into the database, and replayed.

record   a Kafka record as a dead letter: the message's own headers apart from those that say why it failed
replay   produces dead letters to the replay topic
collect  stores dead letters, and replays them when a new state knows their version
select   finds stored dead letters by number or filter
"""
