select
    schema,
    version
from {{ source('metl', 'schema_versions') }}
where deleted is null
