select
    schema,
    entity,
    entity_version,
    version,
    attribute,
    entity_attribute
from {{ source('metl', 'dusb') }}
