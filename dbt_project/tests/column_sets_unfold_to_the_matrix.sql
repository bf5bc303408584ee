-- What dcpm keeps from the last build and what it derives anew are together every 1 of the matrix, once.
with unfolded as (
    select
        dcpm.schema,
        dcpm.version,
        part.value ->> 'entity' as entity,
        (part.value ->> 'entity_version')::integer as entity_version,
        cell.value as attribute,
        cell.key as entity_attribute
    from {{ ref('dcpm') }} as dcpm
    cross join lateral jsonb_array_elements(dcpm.column_set) as part
    cross join lateral jsonb_each_text(part.value -> 'mapping') as cell
)

(
    select schema, version, entity, entity_version, attribute, entity_attribute from unfolded
    except all
    select schema, version, entity, entity_version, attribute, entity_attribute from {{ ref('stg_decompaction') }}
)
union all
(
    select schema, version, entity, entity_version, attribute, entity_attribute from {{ ref('stg_decompaction') }}
    except all
    select schema, version, entity, entity_version, attribute, entity_attribute from unfolded
)
