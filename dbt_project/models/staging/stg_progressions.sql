select
    schema,
    version,
    entity,
    entity_version,
    attribute,
    entity_attribute,
    change
from {{ source('metl', 'progressions') }}
