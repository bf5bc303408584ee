{# The schemas are part of the contract with whoever reads the marts: no prefix by user or target. #}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or target.schema }}
{%- endmacro %}
