"""The mapping matrix as people work on it: blocks, drafts, suggestions, CSV."""
