-- METL inside PostgreSQL: psql -v ON_ERROR_STOP=1 -f sql/install.sql
-- Run by the owner of the database, who need not be a superuser; sql/cluster.sql makes the roles before.
-- Running it again brings an older installation up to date.

-- State: tables, by numbered migrations
\ir migrations/001_states.sql
\ir migrations/002_trees.sql
\ir migrations/003_matrix.sql
\ir migrations/004_notices.sql
\ir migrations/005_policies.sql
\ir migrations/006_row_types.sql
\ir migrations/007_refs.sql
\ir migrations/008_topics.sql
\ir migrations/009_jobs.sql
\ir migrations/010_registry.sql
\ir migrations/011_entities.sql
\ir migrations/012_warehouse.sql
\ir migrations/013_dead_letters.sql
\ir migrations/014_initial_loads.sql
\ir migrations/015_fresh_rows.sql
\ir migrations/016_loads.sql
\ir migrations/017_connectors.sql
\ir migrations/018_decisions.sql
\ir migrations/019_progress.sql
\ir types.sql

-- Taking turns
\ir functions/current_state.sql
\ir private/lock.sql
\ir private/advance.sql

-- Reading what is given, and refusing it clearly
\ir private/check_name.sql
\ir private/type_name.sql
\ir private/read_attributes.sql
\ir private/require.sql
\ir private/read_mapping.sql
\ir private/read_block.sql
\ir private/read_lines.sql
\ir private/problems.sql
\ir private/read_refs.sql
\ir private/check_topic.sql
\ir private/read_progress.sql

-- The matrix: stored blocks and what they unfold to
\ir private/content.sql
\ir private/store.sql
\ir private/replace.sql
\ir private/violations.sql
\ir private/guard.sql
\ir functions/check.sql
\ir views/ones.sql
\ir views/decompaction.sql
\ir views/dusb.sql
\ir functions/matrix_block.sql

-- The trees: which attributes go on from version to version
\ir views/trees.sql
\ir views/schema_refs.sql
\ir private/match_attributes.sql
\ir private/match_schema_attributes.sql
\ir private/match_entity_attributes.sql
\ir private/insert_schema_version.sql
\ir private/insert_entity_version.sql
\ir private/store_refs.sql

-- Policies, plans, notices
\ir private/policy.sql
\ir functions/set_policy.sql
\ir functions/policy_of.sql
\ir views/policies.sql
\ir functions/set_column_policy.sql
\ir views/column_policies.sql
\ir private/column_plan.sql
\ir private/row_plan.sql
\ir private/end_plans.sql
\ir functions/cast_effect.sql
\ir private/block_plan.sql
\ir private/run.sql
\ir private/summary.sql
\ir private/tell.sql
\ir private/must_wait.sql
\ir private/likely_renames.sql
\ir private/wait.sql
\ir private/rename_attributes.sql
\ir private/decide.sql
\ir views/notices.sql
\ir views/plans.sql
\ir functions/confirm_notices.sql
\ir functions/plan_schema_version.sql
\ir functions/plan_renames.sql
\ir functions/plan_schema_version_end.sql
\ir functions/plan_entity_version.sql
\ir functions/plan_entity_version_end.sql
\ir private/settle_entity_renames.sql
\ir private/entity_changes.sql
\ir functions/draft_entity_version.sql
\ir functions/plan_block.sql
\ir functions/plan_run.sql
\ir functions/simulate.sql

-- Auto-Update and edits
\ir private/add_schema_version.sql
\ir private/add_entity_version.sql
\ir functions/add_schema_version.sql
\ir functions/add_entity_version.sql
\ir functions/delete_schema_version.sql
\ir functions/delete_entity_version.sql
\ir functions/set_refs.sql
\ir private/edit.sql
\ir functions/set_block.sql
\ir functions/set_run.sql
\ir functions/set_blocks.sql
\ir functions/check_mappings.sql
\ir private/changed_blocks.sql
\ir functions/plan_mappings.sql
\ir functions/set_mappings.sql
\ir functions/confirm_plan.sql
\ir functions/reject_plan.sql

-- Registries: what they have, and what became of it
\ir views/registry_versions.sql
\ir private/read_listing.sql
\ir private/require_entry.sql
\ir private/registry_number.sql
\ir private/settle_renames.sql
\ir private/adopt.sql
\ir private/register.sql
\ir private/registry_events.sql
\ir functions/note_registry_versions.sql
\ir functions/take_registry_version.sql
\ir functions/end_registry_version.sql
\ir functions/retry_registry_versions.sql

-- Topics: how messages are read
\ir functions/set_topic.sql
\ir functions/unset_topic.sql
\ir views/topics.sql

-- Jobs: what runs, and how it goes
\ir views/held.sql
\ir private/require_job.sql
\ir private/hold.sql
\ir private/refuse_to_start.sql
\ir private/add_counts.sql
\ir functions/start_job.sql
\ir functions/begin_batch.sql
\ir functions/report_job.sql
\ir functions/record_batch.sql
\ir functions/stop_job.sql
\ir views/jobs.sql

-- Connectors: how change data capture goes
\ir functions/report_connectors.sql
\ir views/connectors.sql

-- Dead letters, and what is done to streams by hand
\ir functions/begin_operation.sql
\ir functions/end_operation.sql
\ir private/read_letters.sql
\ir functions/collect_letters.sql
\ir private/send.sql
\ir functions/send_letters.sql
\ir views/due_letters.sql
\ir functions/send_due_letters.sql
\ir functions/give_up_letters.sql
\ir functions/letter_payload.sql
\ir views/dead_letters.sql
\ir views/waiting_versions.sql

-- States
\ir views/states.sql
\ir views/schema_changes.sql
\ir private/decompaction_at.sql
\ir functions/decompaction_at.sql
\ir functions/diff.sql
\ir private/topics_at.sql
\ir private/column_sets_at.sql
\ir functions/matrix_at.sql
\ir private/message_versions_at.sql
\ir functions/outdated.sql

-- Search
\ir functions/feeds.sql
\ir functions/fed_by.sql
\ir functions/search.sql
\ir views/progressions.sql
\ir functions/progression.sql
\ir private/unfed.sql
\ir functions/coverage.sql

-- The warehouse: entities as tables
\ir private/warehouse_names.sql
\ir private/wire_values.sql
\ir private/shape_table.sql
\ir private/screen_batch.sql
\ir private/truncate_tables.sql
\ir private/arrange_batch.sql
\ir private/read_record.sql
\ir private/describe_warehouse.sql
\ir private/merge_statements.sql
\ir private/merge_batch.sql
\ir private/shape_warehouse.sql
\ir functions/clear_columns.sql
\ir functions/forget_warehouse_table.sql
\ir functions/forget_positions.sql
\ir functions/open_warehouse.sql
\ir functions/staged_entities.sql
\ir functions/merge_warehouse.sql
\ir functions/open_initial_load.sql
\ir functions/merge_initial_load.sql
\ir views/warehouse_columns.sql

-- What columns mean, and who may do what
\ir comments.sql
\ir grants.sql
