{#
    Before anything else: is there a METL that has what the models read, may this user build on it, and are
    there the roles that the marts are granted to? Columns are compared with those of the sources, so that
    no version number has to be kept in step.
#}
{% macro require_metl() %}
    {% if execute %}
        {% set owner = run_query("
            select nspowner::regrole::text, pg_has_role(nspowner, 'usage') from pg_namespace where nspname = 'metl'
        ").rows %}
        {% if not owner %}
            {{ exceptions.raise_compiler_error("Database " ~ target.dbname ~ " has no METL in it. Run: metl install") }}
        {% elif flags.WHICH in ('run', 'build') and not owner[0][1] %}
            {{ exceptions.raise_compiler_error(
                target.user ~ " may not build the marts in database " ~ target.dbname
                ~ ". Run it as the owner of METL, " ~ owner[0][0] ~ "."
            ) }}
        {% endif %}
        {% set found = run_query("
            select relname || '.' || attname
            from pg_class inner join pg_attribute on pg_class.oid = attrelid
            where relnamespace = 'metl'::regnamespace and attnum > 0
        ").columns[0].values() %}
        {% for source in graph.sources.values() %}
            {% for column in source.columns.values() if source.name ~ '.' ~ column.name not in found %}
                {{ exceptions.raise_compiler_error(
                    "Database " ~ target.dbname ~ " has an older METL: " ~ source.schema ~ "." ~ source.name
                    ~ " has no column " ~ column.name ~ ". Run: metl install"
                ) }}
            {% endfor %}
        {% endfor %}
        {% set roles = run_query("select rolname from pg_roles").columns[0].values() %}
        {% for role in mart_roles() if role not in roles %}
            {{ exceptions.raise_compiler_error(
                "The server has no role " ~ role ~ ". Run as its administrator: psql -f sql/roles.sql"
            ) }}
        {% endfor %}
    {% endif %}
{% endmacro %}
