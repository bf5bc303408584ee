-- Plans: what a change does to each cell, policies, notices and what waits for confirmation

-- Internals
\ir _effective_policy.sql
\ir _suggest_returned_attributes.sql
\ir _plan_schema_version.sql
\ir _plan_entity_version.sql
\ir _plan_schema_version_end.sql
\ir _plan_entity_version_end.sql
\ir _plan_blocks.sql
\ir _insert_notices.sql
\ir _lost_by_block.sql
\ir _needs_confirmation.sql
\ir _bigrams.sql
\ir _likely_renames.sql
\ir _filter_renames.sql
\ir _suggest_renames.sql
\ir _lost_cells.sql
\ir _queue_plan.sql
\ir _refuse_to_overtake.sql
\ir _refuse_unapproved_losses.sql
\ir _apply_renames.sql
\ir _decide_plan.sql

-- Views
\ir policies.sql
\ir column_policies.sql
\ir notices.sql
\ir plans.sql

-- Functions
\ir set_policy.sql
\ir policy_of.sql
\ir set_column_policy.sql
\ir confirm_notices.sql
\ir plan_schema_version.sql
\ir plan_renames.sql
\ir plan_schema_version_end.sql
\ir plan_entity_version.sql
\ir plan_entity_version_end.sql
\ir plan_block.sql
\ir plan_run.sql
\ir simulate.sql
\ir plan_mappings.sql
\ir confirm_plan.sql
\ir reject_plan.sql
