-- Plans: what a change does to each cell, policies, notices and what waits for confirmation

-- Internals
\ir _policy.sql
\ir _column_plan.sql
\ir _row_plan.sql
\ir _column_end.sql
\ir _row_end.sql
\ir _block_plan.sql
\ir _tell.sql
\ir _lost_by_block.sql
\ir _must_wait.sql
\ir _bigrams.sql
\ir _likely_renames.sql
\ir _renames_of.sql
\ir _sparing_renames.sql
\ir _lost.sql
\ir _wait.sql
\ir _refuse_to_overtake.sql
\ir _refuse_new_losses.sql
\ir _rename_attributes.sql
\ir _decide.sql

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
