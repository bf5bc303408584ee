{# A role that may read the marts must be let into their schema too. #}
{% macro let_roles_in() %}
    {% if execute and flags.WHICH in ('run', 'build') %}
        {% do take_turns() %}
        grant usage on schema metl_marts to {{ mart_roles() | join(', ') }};
        comment on schema metl_marts is 'The dense matrix of METL as tested, documented models; made by dbt.';
        comment on schema metl_intermediate is 'What the marts of METL are made of; made by dbt, read through the marts.';
    {% endif %}
{% endmacro %}

{# Those that dbt_project.yml grants the marts to. #}
{% macro mart_roles() %}
    {{ return(graph.nodes['model.metl.dpm'].config.grants['select']) }}
{% endmacro %}
