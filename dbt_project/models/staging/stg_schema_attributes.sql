select
    schema,
    version,
    attribute,
    source_type
from {{ source('metl', 'schema_attributes') }}
where is_live
