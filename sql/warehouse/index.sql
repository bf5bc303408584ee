-- The warehouse: entities as tables

-- Internals
\ir _warehouse_identifier.sql
\ir _staging_table.sql
\ir _system_columns.sql
\ir _entity_columns.sql
\ir _check_entity_table.sql
\ir _create_entity_table.sql
\ir _convert_column.sql
\ir _alter_entity_table.sql
\ir _reject_records.sql
\ir _rejection_rules.sql
\ir _reject_malformed_records.sql
\ir _staged_record_kinds.sql
\ir _soft_delete_rows.sql
\ir _assign_rounds.sql
\ir _requeue_skipped_records.sql
\ir _mapped_columns.sql
\ir _columns_of_schema.sql
\ir _column_comments.sql
\ir _refresh_columns.sql
\ir _clear_next_pages.sql
\ir _cleared_columns.sql
\ir _merge_statements.sql
\ir _group_statements.sql
\ir _insert_new_rows.sql
\ir _merge_round.sql
\ir _ensure_entity_table.sql

-- Views
\ir warehouse_columns.sql

-- Functions
\ir clear_columns.sql
\ir forget_warehouse_table.sql
\ir forget_positions.sql
\ir open_warehouse.sql
\ir staged_entities.sql
\ir merge_warehouse.sql
\ir open_initial_load.sql
\ir merge_initial_load.sql
