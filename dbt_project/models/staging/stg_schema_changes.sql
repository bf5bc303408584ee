select
    schema,
    state
from {{ source('metl', 'schema_changes') }}
