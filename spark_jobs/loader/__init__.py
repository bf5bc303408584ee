"""What a load has beside the mapping.

span      where it begins and ends
preview   how much that is
progress  how it goes, and what it did
"""
