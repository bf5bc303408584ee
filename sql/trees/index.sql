-- The trees: schemas and entities, their versions and attributes, and which attributes are equivalent

-- Internals
\ir _check_name.sql
\ir _normalize_type.sql
\ir _parse_attributes.sql
\ir _require_schema.sql
\ir _require_schema_version.sql
\ir _require_entity.sql
\ir _require_entity_version.sql
\ir _refuse_used_version.sql
\ir _parse_refs.sql
\ir _unnest_refs.sql
\ir _continued_attributes.sql
\ir _match_attributes.sql
\ir _schema_attributes.sql
\ir _match_entity_attributes.sql
\ir _insert_schema_version.sql
\ir _insert_entity_version.sql
\ir _replace_refs.sql
\ir _drop_applied_renames.sql
\ir _diff_entity.sql
\ir _add_schema_version.sql
\ir _add_entity_version.sql
\ir _add_refs.sql
\ir _parse_version.sql
\ir _version_or_null.sql
\ir _live_version_before.sql
\ir _resolve_aliases.sql
\ir _resolve_draft_aliases.sql
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
