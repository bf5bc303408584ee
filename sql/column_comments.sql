-- A column name means the same in every public view, so that each is described once.
do $$
declare
    _column record;
    -- In parts: a function takes at most 100 arguments.
    _meaning constant jsonb := jsonb_build_object(
        'schema', 'Extraction schema: one table or event of a service.',
        'version',
        'Version of the extraction schema; in entity_versions and plans of the entity or schema named, '
        'in topics and topic_rules the one that plain messages are of, in dead_letters the one that was found, '
        'in registry_versions the one it became or is to become.',
        'attribute', 'Attribute of the schema version; null in a null block.',
        'entity', 'Business entity of the canonical data model.',
        'entity_version', 'Version of the entity.',
        'entity_attribute', 'Attribute of the entity version; null in a null block.',
        'position', 'Place of the attribute in its version, from 1; in registry_work that of the version in the registry.',
        'source_type', 'Type at the source, as it was given.',
        'type', 'Generalized type.',
        'optional', 'Whether the attribute may be missing.',
        'description', 'What the attribute means; in entity_versions and plans, what the entity means.',
        'renamed_from', 'Name of the same attribute in an earlier version.',
        'attribute_id', 'Identity of the attribute through the versions of its schema.',
        'entity_attribute_id', 'Identity of the attribute through the versions of its entity.',
        'is_live', 'Whether the version still is in the matrix.',
        'added', 'State in which the version came.',
        'deleted', 'State in which the version went; null while it is live.',
        'state',
        'State: in states the one described, in notices the one of the change, in plans the one it became, '
        'in jobs and job_batches the one that mapped, in dead_letters the one that could not.',
        'cause', 'Function that made the change.',
        'who', 'Who made the change, or did it.',
        'at', 'When the change was made.',
        'summary', 'What was changed, and how many cells were kept, lost and gained.',
        'kind',
        'In notices what happened to the block; in plans what is to be added; in schema_refs what the ref is; '
        'in operations what was done.',
        'lost', 'The cells that were lost, in plans would be, or are suggested when a name came back.',
        'likely_renames',
        'Likely renames that would keep such cells: attribute, renamed_to and a score from 0.5 to 1.',
        'renames', 'The renames with which it was confirmed: {"old": "new"}.',
        'created_at', 'When it was made.',
        'created_by', 'Who made it.',
        'confirmed_at', 'When it was confirmed.',
        'plan_id',
        'Number for metl.confirm_plan and metl.reject_plan; in registry_versions the plan as which, or behind which, it waits.',
        'name', 'Schema or entity that the plan is for.',
        'attributes', 'Attributes of the version to be added.',
        'decision', 'waiting, confirmed or rejected.',
        'decided_at', 'When it was decided.',
        'decided_by', 'Who decided it.',
        'refs', 'The ids by which messages will name the version.',
        'ref', 'What messages carry to name the version.',
        'change', 'gained or lost.',
        'policy', 'auto, confirm or freeze; in column_policies keep or clear.',
        'set_by', 'Who set it.',
        'set_at', 'When it was set.'
    ) || jsonb_build_object(
        'topic', 'Topic of Kafka.',
        'pattern', 'Topic, or a pattern of topics in which * stands for any run of characters.',
        'format', 'What names the version of a message, as in metl.set_topic.',
        'payload', 'debezium (envelopes with before and after) or flat (the payload itself is the row).',
        'since', 'State in which it was set.',
        'job', 'Name of the job.',
        'table_name', 'Table of schema warehouse that the entity has.',
        'column_name', 'Column of it; those of METL begin with an underscore.',
        'column_type', 'Type of the column in PostgreSQL.',
        'checkpoint', 'Where the job keeps how far it has come; only one job may use it.',
        'instance', 'One run of the job, from its start to its end.',
        'about', 'Details of the job or the operation; no secrets.',
        'status', 'Last reported status of the job: starting, running, retrying, stopping, stopped, halted or failed. Of a dead letter: '
        'dead (it waits), sent (replayed, and has not failed again since) or given_up. Of a connector: running, paused, stopped, '
        'restarting, unassigned, failed or unreachable.',
        'reason', 'Why it has this status, if given; of a dead letter why it could not be mapped the last time.',
        'running', 'Whether a session holds the lock of the job; a job that was killed keeps its status, but not its lock.',
        'started_at', 'When the current instance began.',
        'status_at', 'When the status was reported.',
        'last_batch', 'Number of the batch that ended last.',
        'last_batch_at', 'When that batch ended.',
        'states_behind', 'How many states have come since the one that mapped the last batch.',
        'batch', 'Number of the batch.',
        'began_at', 'When the batch began.',
        'ended_at', 'When the batch ended.',
        'rows_in', 'Messages read; in jobs by the current instance.',
        'rows_out', 'Messages that were sent; in jobs by the current instance.',
        'rows_filtered', 'Messages that map nothing, on purpose; in jobs those of the current instance.',
        'dead', 'Messages that became dead letters: in job_batches by reason, in jobs in all since the current instance began.',
        'dead_by_reason', 'The dead letters since the current instance began, by reason.',
        'rows_per_second', 'Messages that came in the last batch, for each second that it took.',
        'latency_ms', 'From the time in the message until it was sent, in milliseconds, of one in eight of those that came '
        'while the job ran: p50, p90, p99 and max; in jobs of the last batch in which such messages came.',
        'behind_ms', 'Age of the newest message that the batch read, in milliseconds; in jobs null where '
        'there is no lag.',
        'rows_in_ever', 'Messages read by all instances.',
        'rows_out_ever', 'Messages sent by all instances.',
        'rows_filtered_ever', 'Messages that map nothing, on purpose, of all instances.',
        'dead_ever', 'Messages that became dead letters in any instance.',
        'matrix_rows', 'Column sets that the batch held in memory.',
        'matrix_bytes', 'How large they were.',
        'lag', 'Messages in the topics that were not read yet when the batch ended.',
        'positions', 'What was read: {"topic": {"partition": [first offset, offset after the last]}}; '
        'the first is null where the partition is read for the first time.'
    ) || jsonb_build_object(
        'registry', 'Name under which METL knows the registry.',
        'registry_group', 'Group of the artifact in the registry; in registry_readings null for all.',
        'artifact', 'Artifact in the registry, or subject.',
        'registry_version', 'Version of the artifact, as the registry calls it.',
        'artifact_type', 'KCONNECT, JSON, AVRO or another type of the registry.',
        'global_id', 'Number that the registry gave to this version and no other.',
        'content_id', 'Number that the registry gave to the content, which several versions may have.',
        'confluent_id', 'Id of the schema in a Confluent registry.',
        'registry_state', 'State in the registry: ENABLED, DISABLED, DEPRECATED, DRAFT or SUNSET.',
        'outcome',
        'pending (not processed yet), registered, waiting (as a plan), rejected, deleted (here, by somebody), unreadable, '
        'conflict (something else has that name or number), passed over (keys, drafts, heartbeats, entities of METL) or gone (from the registry); '
        'in operations the result, with the error if it failed; null if it did not end.',
        'problem', 'Why it is unreadable or a conflict, or why the last try failed; of a connector what is wrong with it.',
        'created_on', 'When it was registered, by the clock of the registry.',
        'modified_on', 'When it was changed last, by the clock of the registry.',
        'seen_at', 'When it was seen first.',
        'gone_at', 'When it was found to be gone from the registry.',
        'entry', 'Number for metl.take_registry_version and metl.end_registry_version.',
        'task', 'take (for metl.take_registry_version) or end (for metl.end_registry_version).',
        'read_until', 'Time up to which changes were read, by the clock of the registry.',
        'read_at', 'When they were read.'
    ) || jsonb_build_object(
        'connector', 'Name of the connector on Kafka Connect.',
        'connect_url', 'Address of that Kafka Connect.',
        'prefix', 'What the names of its topics begin with.',
        'way_out', 'Remedy of the problem.',
        'tasks', 'Its tasks, with the state of each and the first cause of its failure.',
        'tables', 'Tables that it captures, as schema.table.',
        'slot', 'Replication slot that it reads, in the source database.',
        'behind_bytes', 'WAL that the source has written and the connector has not confirmed yet; null if it could not be read.',
        'wal_bytes', 'WAL that the source keeps because of the slot; null if it could not be read.',
        'last_event_at', 'When the newest message of its tables came into Kafka.',
        'reported_at', 'When its health was last checked.'
    ) || jsonb_build_object(
        'letter', 'Number of the dead letter.',
        'letters', 'How many dead letters.',
        'is_behind', 'Whether it is not the plan itself, but queued behind it.',
        'is_rejected', 'Whether its plan was rejected, and it was not taken up again (metl.retry_registry_versions).',
        'partition', 'Partition of the topic.',
        'message_offset', 'Offset of the message in its partition.',
        'message_at', 'Time in the message, if known.',
        'first_at', 'When the message became a dead letter for the first time.',
        'last_at', 'When it became one for the last time.',
        'times', 'How often it was collected.',
        'replays', 'How often it was sent again.',
        'sent_at', 'When it was sent again last.',
        'operation', 'Number of the operation; in dead_letters of the one that did something to it last.',
        'key_bytes', 'Size of the key; null if there is none.',
        'value_bytes', 'Size of the value; null for a tombstone.',
        'is_purged', 'Whether the payload was purged: such a letter cannot be sent again.',
        'known_since', 'State that knows the version.',
        'next_offset', 'First offset that is not collected yet.',
        'why', 'Why it was done, as given.'
    );
begin
    for _column in
        select pg_class.oid::regclass as view, pg_attribute.attname as name
        from pg_class
        inner join pg_attribute on pg_class.oid = pg_attribute.attrelid
        where
            pg_class.relnamespace = 'metl'::regnamespace
            and pg_class.relkind = 'v'
            and pg_class.relname not like '\_%'
    loop
        execute format('comment on column %s.%I is %L', _column.view, _column.name, _meaning ->> _column.name);
    end loop;
end $$;

comment on column metl.type.type is 'The name of the generalized type.';
comment on column metl.type.description is 'What it stands for.';
comment on column metl.accepted_type.source_type is
'A type of extraction schemas, in lower case and without its length.';
comment on column metl.accepted_type.type is 'The generalized type that accepts it.';
