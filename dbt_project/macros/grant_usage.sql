{# A role that may select from the marts needs usage on their schema too. #}
{% macro grant_usage() %}
    {% if execute and flags.WHICH in ('run', 'build') %}
        {% do lock_build() %}
        grant usage on schema metl_marts to {{ mart_roles() | join(', ') }};
        comment on schema metl_marts is 'The dense matrix of METL as tested, documented models; made by dbt.';
        comment on schema metl_intermediate is 'What the marts of METL are made of; made by dbt, read through the marts.';
    {% endif %}
{% endmacro %}

{# The roles that dbt_project.yml grants the marts to. #}
{% macro mart_roles() %}
    {{ return(graph.nodes['model.metl.dpm'].config.grants['select']) }}
{% endmacro %}
