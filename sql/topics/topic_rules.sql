create or replace view metl.topic_rules as
select
    topic_rule.pattern,
    topic_rule.format,
    topic_rule.payload,
    schema.name as schema,
    topic_rule.version,
    topic_rule.since
from metl.topic_rule
left join metl.schema on topic_rule.schema_id = schema.schema_id
where topic_rule.until is null;
comment on view metl.topic_rules is
'How messages are read, as it was set. Of several rules that match, the one of that very topic wins, else the longest.';
