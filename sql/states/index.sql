-- States: the current one, its lock, and how the matrix was in earlier ones

-- Internals
\ir _lock.sql
\ir _begin_state.sql
\ir _state_summary.sql
\ir _decompaction_at.sql

-- Views
\ir states.sql
\ir schema_changes.sql

-- Functions
\ir current_state.sql
\ir decompaction_at.sql
\ir diff.sql
