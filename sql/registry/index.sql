-- Registries: which versions they have, and what became of each

-- Internals
\ir _is_same.sql
\ir _read_listing.sql
\ir _require_entry.sql
\ir _registry_number.sql
\ir _register.sql
\ir _registry_event.sql
\ir _tell_of_registry.sql

-- Views
\ir registry_versions.sql
\ir registry_readings.sql
\ir registry_work.sql
\ir waiting_versions.sql

-- Functions
\ir note_registry_versions.sql
\ir take_registry_version.sql
\ir end_registry_version.sql
\ir retry_registry_versions.sql
