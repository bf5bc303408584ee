-- The matrix: stored blocks, their decompaction, and edits

-- Internals
\ir _elevate.sql
\ir _read_mapping.sql
\ir _read_block.sql
\ir _refuse_blocks.sql
\ir _read_lines.sql
\ir _problems.sql
\ir _content.sql
\ir _content_at.sql
\ir _pairs.sql
\ir _store.sql
\ir _replace.sql
\ir _violations.sql
\ir _guard_blocks.sql
\ir _guard_past_blocks.sql
\ir _refuse_truncate.sql
\ir _guard_cells.sql
\ir _refuse_violations.sql
\ir _ones.sql
\ir _run.sql
\ir _refuse_frozen.sql
\ir _remark.sql
\ir _edit.sql
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
