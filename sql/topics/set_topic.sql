create or replace function metl.set_topic(
    pattern text,
    format text default 'ext_json',
    payload text default 'debezium',
    schema text default null,
    version int default null
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int;
    _state bigint;
begin
    perform metl._lock();
    perform metl._check_topic_rule(pattern, format, payload, schema, version);
    if schema is not null then
        _schema_id := metl._require_schema(schema);
        if not exists (
            select from metl.schema_version as v where v.schema_id = _schema_id and v.deleted is null
        ) then
            raise exception using
                errcode = 'undefined_object',
                message = format('Schema %L has no live version any more, so that no topic carries it.', schema),
                hint = 'Add a version with metl.add_schema_version first.';
        end if;
    end if;
    -- Of the schemas that a pattern stands for, each may have the version or not, and more may come.
    if version is not null and pattern not like '%*%' then
        perform metl._require_schema_version(coalesce(schema, pattern), version);
    end if;
    _state := metl._begin_state(
        'set_topic',
        metl._state_summary(schema, version, null, null, '{}')
        || jsonb_build_object('pattern', pattern, 'format', format, 'payload', payload)
    );
    update metl.topic_rule set until = _state
    where topic_rule.pattern = set_topic.pattern and topic_rule.until is null;
    insert into metl.topic_rule (pattern, format, payload, schema_id, version, since)
    values (set_topic.pattern, set_topic.format, set_topic.payload, _schema_id, set_topic.version, _state);
    return _state;
end $$;
comment on function metl.set_topic(text, text, text, text, int) is
'Sets how messages are read, of one topic or of all that match a pattern such as shop.*, and replaces an earlier '
'rule. Format is how they name their version: ext_json (schemaId is the globalId), ext_json_content_id (it is the '
'contentId), apicurio, apicurio_2, confluent, connect (the fingerprint of their own schema), plain (not at all: it '
'is the given version or else the newest). Payload is debezium (before and after) or flat (the row itself). A topic '
'carries the schema of its own name or the one given. Returns the new state.';
