-- The trees: schemas and entities, their versions and attributes, and which attributes are equivalent

-- Internals
\ir _check_name.sql
\ir _type_name.sql
\ir _read_attributes.sql
\ir _require_schema.sql
\ir _require_schema_version.sql
\ir _require_entity.sql
\ir _require_entity_version.sql
\ir _require_new_version.sql
\ir _read_refs.sql
\ir _given_refs.sql
\ir _claims.sql
\ir _match_attributes.sql
\ir _schema_attributes.sql
\ir _match_entity_attributes.sql
\ir _insert_schema_version.sql
\ir _insert_entity_version.sql
\ir _store_refs.sql
\ir _settle_entity_renames.sql
\ir _entity_changes.sql
\ir _add_schema_version.sql
\ir _add_entity_version.sql
\ir _add_refs.sql
\ir _read_version.sql
\ir _version_number.sql
\ir _live_version_before.sql
\ir _settle_renames.sql
\ir _settle_draft.sql
\ir _live_version_after.sql
\ir _match_schema_attributes.sql

-- Views
\ir schema_versions.sql
\ir schema_attributes.sql
\ir entity_versions.sql
\ir entity_attributes.sql
\ir schema_refs.sql

-- Functions
\ir draft_entity_version.sql
\ir add_schema_version.sql
\ir add_entity_version.sql
\ir delete_schema_version.sql
\ir delete_entity_version.sql
\ir set_refs.sql
\ir cast_effect.sql
