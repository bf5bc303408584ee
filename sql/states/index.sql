-- States: the current one, its lock, and how the matrix was in earlier ones
\ir current_state.sql
\ir _lock.sql
\ir _advance.sql
\ir _summary.sql
\ir states.sql
\ir schema_changes.sql
\ir _decompaction_at.sql
\ir decompaction_at.sql
\ir diff.sql
