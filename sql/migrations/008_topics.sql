-- How the messages of topics are read. Ended rules stay, as blocks do.
create table metl.topic_rule (
    pattern text not null,
    format text not null constraint topic_rule_format check (
        format in ('ext_json', 'ext_json_content_id', 'apicurio', 'apicurio_2', 'confluent', 'connect', 'plain')
    ),
    payload text not null constraint topic_rule_payload check (payload in ('debezium', 'flat')),
    schema_id int constraint topic_rule_carries references metl.schema,
    version int,
    since bigint not null constraint topic_rule_since references metl.state,
    until bigint constraint topic_rule_until references metl.state,
    constraint topic_rule_pk primary key (pattern, since),
    constraint topic_rule_schema_is_of_one_topic check (schema_id is null or pattern not like '%*%'),
    constraint topic_rule_version_is_of_plain check (version is null or format = 'plain'),
    constraint topic_rule_ends_after_it_begins check (until > since)
);
create unique index topic_rule_is_current_once on metl.topic_rule (pattern) where until is null;
