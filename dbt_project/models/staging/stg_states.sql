select
    state,
    cause,
    who,
    at,
    summary ->> 'schema' as schema,
    (summary ->> 'version')::integer as version,
    summary ->> 'entity' as entity,
    (summary ->> 'entity_version')::integer as entity_version,
    (summary ->> 'kept')::integer as kept,
    (summary ->> 'lost')::integer as lost,
    (summary ->> 'gained')::integer as gained
from {{ source('metl', 'states') }}
