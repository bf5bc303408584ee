{# dbt makes missing schemas before it runs any hook; without METL not even those should be left behind. #}
{% macro postgres__create_schema(relation) %}
    {% do require_metl() %}
    {% call statement('create_schema') %}
        create schema if not exists {{ adapter.quote(relation.schema) }}
    {% endcall %}
{% endmacro %}
