with ones as (
    select * from {{ ref('stg_decompaction') }}
),

entity_attributes as (
    select * from {{ ref('stg_entity_attributes') }}
),

newest_versions as (
    select
        schema,
        max(version) as version
    from {{ ref('stg_schema_versions') }}
    group by schema
),

current_state as (
    select * from {{ ref('stg_current_state') }}
)

select
    entity_attributes.entity,
    entity_attributes.entity_version,
    entity_attributes.entity_attribute,
    entity_attributes.position,
    entity_attributes.type,
    entity_attributes.description,
    count(newest_versions.schema) > 0 as is_covered,
    count(distinct ones.schema) as schemas,
    count(distinct newest_versions.schema) as schemas_today,
    count(ones.schema) as schema_versions,
    current_state.state
from entity_attributes
left join ones
    on
        entity_attributes.entity = ones.entity
        and entity_attributes.entity_version = ones.entity_version
        and entity_attributes.entity_attribute = ones.entity_attribute
left join newest_versions
    on
        ones.schema = newest_versions.schema
        and ones.version = newest_versions.version
cross join current_state
group by
    entity_attributes.entity,
    entity_attributes.entity_version,
    entity_attributes.entity_attribute,
    entity_attributes.position,
    entity_attributes.type,
    entity_attributes.description,
    current_state.state
