select
    entity,
    entity_version,
    entity_attribute,
    position,
    type,
    description
from {{ source('metl', 'entity_attributes') }}
where is_live
