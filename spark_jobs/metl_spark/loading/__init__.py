"""What a load has beside the mapping.

limits    where it begins and ends
client    who knows where that is in Kafka
preview   how much it is
progress  how it goes, and what it did
"""
