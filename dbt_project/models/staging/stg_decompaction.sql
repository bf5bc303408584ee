select
    schema,
    version,
    entity,
    entity_version,
    attribute,
    entity_attribute
from {{ source('metl', 'decompaction') }}
