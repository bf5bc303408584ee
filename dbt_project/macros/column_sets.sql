{#
    The column set of each live version of the schemas that the relation `schemas` lists, or of all.
    The restriction stands at each of the three scans because PostgreSQL does not carry it there by itself.
#}
{% macro column_sets(schemas=none) %}
    {%- set restriction -%}
        {%- if schemas -%} where schema = any(array(select changed.schema from {{ schemas }} as changed)) {%- endif -%}
    {%- endset -%}
    select
        versions.schema,
        versions.version,
        coalesce(named.refs, '{}') || jsonb_build_object('version', jsonb_build_array(versions.version::text)) as refs,
        coalesce(mapped.column_set, '[]') as column_set
    from (
        select schema, version from {{ ref('stg_schema_versions') }} {{ restriction }}
    ) as versions
    left join (
        select schema, version, jsonb_object_agg(kind, refs) as refs
        from (
            select schema, version, kind, jsonb_agg(ref order by ref) as refs
            from {{ ref('int_refs') }}
            {{ restriction }}
            group by schema, version, kind
        ) as kinds
        group by schema, version
    ) as named on versions.schema = named.schema and versions.version = named.version
    left join (
        select
            schema,
            version,
            jsonb_agg(
                jsonb_build_object('entity', entity, 'entity_version', entity_version, 'mapping', mapping)
                order by entity
            ) as column_set
        from (
            select schema, version, entity, entity_version, jsonb_object_agg(entity_attribute, attribute) as mapping
            from {{ ref('stg_decompaction') }}
            {{ restriction }}
            group by schema, version, entity, entity_version
        ) as blocks
        group by schema, version
    ) as mapped on versions.schema = mapped.schema and versions.version = mapped.version
{% endmacro %}
