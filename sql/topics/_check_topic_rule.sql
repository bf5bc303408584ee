create or replace function metl._check_topic_rule(
    pattern text, format text, payload text, schema text, version int
) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if pattern is null or pattern !~ '^[A-Za-z0-9._*-]+$' or length(pattern) > 249 or pattern in ('.', '..') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('No topic can be named %s.', coalesce(
                quote_literal(left(pattern, 60)) || case when length(pattern) > 60 then '…' else '' end, 'null'
            )),
            hint = 'Topics have 1 to 249 of the characters A-Z a-z 0-9 . _ and -; * stands for any run of them.';
    end if;
    if format is null or format not in (
        'ext_json', 'ext_json_content_id', 'apicurio', 'apicurio_2', 'confluent', 'connect', 'plain'
    ) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a format.', coalesce(quote_literal(left(format, 60)), 'null')),
            hint = 'Take ext_json, ext_json_content_id, apicurio, apicurio_2, confluent, connect or plain.';
    end if;
    if payload is null or payload not in ('debezium', 'flat') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a payload.', coalesce(quote_literal(left(payload, 60)), 'null')),
            hint = 'Take debezium (envelopes with before and after) or flat (the payload itself is the row).';
    end if;
    if schema is not null and pattern like '%*%' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The topics of pattern %L cannot all carry schema %L.', pattern, schema),
            hint = 'Name one topic, without *. Without a schema, each topic carries the schema of its own name.';
    end if;
    if version is not null and format <> 'plain' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Version %s cannot be set for %L: its messages name their version.', version, pattern),
            hint = format('Leave the version out, or take format plain instead of %s.', format);
    end if;
    if version < 1 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a version of what topic %L carries.', version, pattern),
            hint = 'Versions are whole numbers from 1.';
    end if;
end $$;
comment on function metl._check_topic_rule(text, text, text, text, int) is
'Refuses a rule for topics that makes no sense by itself, whatever the trees are.';
