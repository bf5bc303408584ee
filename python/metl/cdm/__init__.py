"""The canonical data model as code: entities in YAML files, planned, applied and published.

entity    an entity and its attributes
form      what a document must be like, for METL and for editors
files     YAML to entities, with every mistake at once
plan      what the files would change, as the database sees it
schema    an entity version as JSON Schema
publish   entity versions in the registry
export    entities to YAML
"""
