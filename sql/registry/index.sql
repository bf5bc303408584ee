-- Registries: which versions they have, and what became of each
\ir registry_versions.sql
\ir _read_listing.sql
\ir _require_entry.sql
\ir _registry_number.sql
\ir _register.sql
\ir _tell_of_registry.sql
\ir note_registry_versions.sql
\ir take_registry_version.sql
\ir end_registry_version.sql
\ir retry_registry_versions.sql
\ir waiting_versions.sql
