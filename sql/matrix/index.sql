-- The matrix: stored blocks, their decompaction, and edits

-- Internals
\ir _move_blocks.sql
\ir _parse_mapping.sql
\ir _parse_block.sql
\ir _refuse_invalid_blocks.sql
\ir _resolve_lines.sql
\ir _line_problems.sql
\ir _stored_content.sql
\ir _effective_content.sql
\ir _unnest_content.sql
\ir _set_contents.sql
\ir _write_blocks.sql
\ir _invariant_violations.sql
\ir _guard_blocks.sql
\ir _guard_past_blocks.sql
\ir _refuse_truncate.sql
\ir _guard_cells.sql
\ir _refuse_violations.sql
\ir _ones.sql
\ir _run_blocks.sql
\ir _refuse_frozen.sql
\ir _warn_of_casts.sql
\ir _edit_blocks.sql
\ir _changed_blocks.sql

-- Views
\ir decompaction.sql
\ir dusb.sql

-- Functions
\ir check.sql
\ir matrix_block.sql
\ir set_block.sql
\ir set_run.sql
\ir set_blocks.sql
\ir check_mappings.sql
\ir set_mappings.sql
