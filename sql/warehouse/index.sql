-- The warehouse: entities as tables

-- Internals
\ir _warehouse_name.sql
\ir _warehouse_work.sql
\ir _warehouse_own.sql
\ir _warehouse_shape.sql
\ir _warehouse_check.sql
\ir _warehouse_make.sql
\ir _warehouse_convert.sql
\ir _warehouse_elevate.sql
\ir _warehouse_reject.sql
\ir _warehouse_unfit.sql
\ir _warehouse_screen.sql
\ir _warehouse_survey.sql
\ir _warehouse_empty.sql
\ir _warehouse_arrange.sql
\ir _warehouse_recall.sql
\ir _warehouse_cells.sql
\ir _warehouse_brought.sql
\ir _warehouse_comments.sql
\ir _describe_warehouse.sql
\ir _warehouse_clear.sql
\ir _warehouse_cleared.sql
\ir _warehouse_statements.sql
\ir _warehouse_alike.sql
\ir _warehouse_insert.sql
\ir _warehouse_apply.sql
\ir _shape_warehouse.sql

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
