-- Comments on what the migrations create; here, since they may change.
comment on schema metl is 'The mapping matrix of METL: trees, unique blocks, Auto-Update, states, search.';
comment on table metl.migration is 'The migrations that were applied, each once, with the SHA-256 of its file.';
comment on table metl.clock is 'The current state; its row lock serializes writers.';
comment on table metl.state is 'One row per change of trees or matrix: what caused it, by whom, when.';
comment on table metl.type is 'The generalized types of the canonical data model.';
comment on table metl.accepted_type is
'Which types of extraction schemas each generalized type accepts. Add rows for types of your own.';
comment on table metl.schema is 'Extraction schemas: one table or event of a service each.';
comment on table metl.schema_version is
'Versions of extraction schemas. Deleted ones stay, so that old states remain readable and numbers are not reused.';
comment on table metl.attribute is 'The identity of an attribute through the versions of its schema.';
comment on table metl.attribute_version is
'An attribute as it appears in one version: its name, its type at the source.';
comment on table metl.entity is 'Business entities of the canonical data model.';
comment on table metl.entity_version is 'Versions of entities; at most one of an entity is live.';
comment on index metl.entity_has_one_live_version is 'An entity has at most one live version.';
comment on table metl.entity_attribute is 'The identity of an entity attribute through the versions of its entity.';
comment on table metl.entity_attribute_version is 'An entity attribute as it appears in one version of its entity.';
comment on table metl.block is 'The unique blocks of the matrix, each stored at the version where its run begins.';
comment on index metl.block_is_stored_once is 'One current block per schema version and entity version.';
comment on index metl.block_by_entity is 'For the reverse search: what feeds an entity version.';
comment on table metl.cell is 'The ones of each stored block.';
comment on table metl.notice is 'What a steward should know of an update by Auto-Update.';
comment on index metl.notice_by_state is 'For the notices of one change.';
comment on table metl.policy is 'How far Auto-Update may go by itself, for each schema and entity.';
comment on table metl.waiting_plan is
'Updates that would lose cells under policy confirm, and the decision about each.';
comment on index metl.waiting_plan_is_open_once is 'A version waits at most once.';
comment on type metl._given_attribute is 'An attribute of a version that is to be added, validated.';
comment on type metl._known_attribute is 'An attribute of the live version before or after it.';
comment on type metl.planned_cell is
'What an update does to one cell: fate is kept, lost, gained or suggested; reason says why, and of one that is gained '
'whether its values may not fit.';
comment on type metl._cell_fate is 'A metl.planned_cell with the ids.';
comment on type metl._block_content is
'What one block is to contain: pairs {attribute_id, entity_attribute_id} by ascending attribute_id; '
'{} maps nothing, null is not stored.';
comment on table metl.schema_ref is 'The ids and fingerprints by which messages name a schema version.';
comment on index metl.schema_ref_is_current_once is 'A version has each of its refs once.';
comment on index metl.global_id_names_one_version is
'The other kinds may name several versions: a column added and removed again gives the same content.';
comment on index metl.block_by_since is 'For metl.schema_changes.';
comment on index metl.block_by_until is 'For metl.schema_changes.';
comment on index metl.schema_version_by_added is 'For metl.schema_changes.';
comment on index metl.schema_version_by_deleted is 'For metl.schema_changes.';
comment on index metl.schema_ref_by_since is 'For metl.schema_changes.';
comment on index metl.schema_ref_by_until is 'For metl.schema_changes.';
comment on table metl.topic_rule is 'How the messages of a topic, or of all that match a pattern, are read.';
comment on index metl.topic_rule_is_current_once is 'A pattern has one rule.';
comment on table metl.job is 'The jobs that map messages, each with the instance of it that was started last.';
comment on table metl.job_instance is
'Every instance that ever ran a job, with its totals; one that was superseded is recognized by it.';
comment on table metl.job_batch is 'What each batch of a job did.';
comment on index metl.job_batch_by_end is 'For the last batch of a job.';
comment on index metl.job_batch_with_latency is 'For the last batch in which messages came, however long ago.';
comment on table metl.registry_version is
'Every version that was ever seen in a registry, and which version of which schema it became.';
comment on index metl.registry_version_is_there_once is
'A registry has a version once; one that was deleted and recreated is another.';
comment on index metl.registry_version_by_schema is 'For the versions of a schema in registries.';
comment on index metl.registry_version_to_take is 'For metl.registry_work: versions to take.';
comment on index metl.registry_version_to_end is 'For metl.registry_work: versions to end.';
comment on table metl.registry_reading is 'Up to which time the changes of each registry were read.';
comment on type metl.registry_event is 'What became of a version of a registry, and what Auto-Update did.';
comment on type metl.mapping_line is
'One cell as a line of a file lists it; without both attributes: the block maps nothing.';
comment on type metl._read_line is 'A metl.mapping_line with the ids of what it names.';
comment on schema warehouse is
'Entities as tables, one row for each key of each source, filled from the entity topics by metl warehouse.';
comment on table metl.warehouse_table is
'The table of each entity, and the entity version that its columns follow.';
comment on table metl.warehouse_column is
'The column of each attribute. Attributes that only differ in type have the same one; those that are no longer part '
'of their entity are retired.';
comment on table metl.warehouse_truncate is
'When each source was last truncated, so that older rows that are sent again stay deleted.';
comment on table warehouse._rejected is
'Records that are in no table of the warehouse because a value of theirs does not fit, and why.';
comment on table metl.operation is 'Replays, resets, snapshots, loads and other operations: by whom, when and why.';
comment on table metl.dead_letter is 'Messages that could not be mapped, with their payload until it is purged.';
comment on index metl.dead_letter_by_status is 'For dead letters to be replayed, and those that a new state can map.';
comment on table metl.dead_position is
'The offsets up to which topics of dead letters are collected, committed together with them.';
comment on table metl.connector is 'The connectors of change data capture and their health when it was last checked.';
comment on table metl.column_policy is
'Whether rows of a schema that stopped feeding an entity attribute keep their values.';
comment on table metl.warehouse_clearing is
'Columns that are null in the rows of a schema, since it does not feed them any more and the policy is clear; '
'next_block and end_block are the pages of the table that are still to be cleared.';

comment on trigger block_insert_is_guarded on metl.block is 'Refuses inserts that break an invariant of the matrix.';
comment on trigger block_update_is_guarded on metl.block is 'Refuses updates that break an invariant of the matrix.';
comment on trigger block_move_is_guarded on metl.block is 'Refuses updates that break an invariant of the matrix.';
comment on trigger block_delete_is_guarded on metl.block is 'Refuses deletes that break an invariant of the matrix.';
comment on trigger block_truncate_is_refused on metl.block is 'Old states are read from it.';
comment on trigger cell_truncate_is_refused on metl.cell is 'Old states are read from it.';
comment on trigger cell_insert_is_guarded on metl.cell is 'Refuses inserts that break an invariant of the matrix.';
comment on trigger cell_update_is_guarded on metl.cell is 'Refuses updates that break an invariant of the matrix.';
comment on trigger cell_move_is_guarded on metl.cell is 'Refuses updates that break an invariant of the matrix.';
comment on trigger cell_delete_is_guarded on metl.cell is 'Refuses deletes that break an invariant of the matrix.';

comment on constraint clock_has_one_row on metl.clock is 'There is one current state, and one lock.';
comment on constraint state_is_positive on metl.state is 'State 0 is the empty matrix, which no write made.';
comment on constraint schema_version_is_positive on metl.schema_version is 'Registries count versions from 1.';
comment on constraint schema_version_lives_before_it_dies on metl.schema_version is
'Each change is a state of its own.';
comment on constraint entity_version_is_positive on metl.entity_version is 'Versions are counted from 1.';
comment on constraint entity_version_lives_before_it_dies on metl.entity_version is
'Each change is a state of its own.';
comment on constraint block_ends_after_it_begins on metl.block is 'A block that lived in no state would never be read.';
comment on constraint notice_kind on metl.notice is 'The kinds of notices of Auto-Update and of reading registries.';
comment on constraint notice_lost_is_an_array on metl.notice is 'Cells, possibly none.';
comment on constraint policy_kind on metl.policy is
'auto does it, confirm asks before losing cells, freeze changes nothing.';
comment on constraint column_policy_kind on metl.column_policy is
'keep leaves values that nothing feeds any more as they are, clear makes them null.';
comment on constraint waiting_plan_kind on metl.waiting_plan is
'Versions that come may wait; a deletion is its own confirmation.';
comment on constraint waiting_plan_decision on metl.waiting_plan is 'Null while it waits.';
comment on constraint waiting_plan_is_decided_whole on metl.waiting_plan is 'A decision has a time.';
comment on constraint schema_ref_kind on metl.schema_ref is
'The kinds of ids that registries and converters put on the wire; a configured version needs no ref.';
comment on constraint schema_ref_ends_after_it_begins on metl.schema_ref is 'Each change is a state of its own.';
comment on constraint registry_version_outcome on metl.registry_version is
'taken is registered or waiting, as the trees and plans say; ended is gone from here as well.';
comment on constraint registry_version_ends_when_gone on metl.registry_version is
'Only versions that are gone from the registry end.';
comment on constraint topic_rule_format on metl.topic_rule is 'The wire formats that mappers read.';
comment on constraint topic_rule_payload on metl.topic_rule is 'Rows of tables come in envelopes, events do not.';
comment on constraint topic_rule_schema_is_of_one_topic on metl.topic_rule is
'A pattern cannot give several topics the same schema by accident.';
comment on constraint topic_rule_version_is_of_plain on metl.topic_rule is
'Messages of the other formats name their version themselves.';
comment on constraint topic_rule_ends_after_it_begins on metl.topic_rule is 'Each change is a state of its own.';
comment on constraint job_about_is_an_object on metl.job is 'Details of a job are named values.';
comment on constraint job_status on metl.job is
'halted needs an operator, failed ended with an error, stopped ended on request; the others continue.';
comment on constraint connector_status on metl.connector is
'The states of Kafka Connect, the worst of connector and tasks, and unreachable where Connect does not answer.';
comment on constraint connector_tasks_is_an_array on metl.connector is 'A connector has any number of tasks.';
comment on constraint connector_problem_has_a_way_out on metl.connector is 'Each problem comes with a remedy.';
comment on constraint operation_kind on metl.operation is 'The kinds of operations on streams.';
comment on constraint operation_says_why on metl.operation is 'An audit needs the reason.';
comment on constraint operation_about_is_an_object on metl.operation is
'Details of an operation are named values.';
comment on constraint dead_letter_status on metl.dead_letter is
'Mappers do not report success: a dead letter stays sent unless it fails again.';
