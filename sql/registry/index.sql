-- Registries: which versions they have, and what became of each

-- Internals
\ir _has_same_attributes.sql
\ir _parse_listing.sql
\ir _require_registry_version.sql
\ir _assign_schema_version.sql
\ir _register_schema_version.sql
\ir _make_registry_event.sql
\ir _update_registry_notice.sql

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
