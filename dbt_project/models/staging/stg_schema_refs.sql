select
    schema,
    version,
    kind,
    ref
from {{ source('metl', 'schema_refs') }}
