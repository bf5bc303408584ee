-- Who may do what, as a matrix. Roles that do not exist are passed over: sql/roles.sql makes them.
revoke all on schema metl from public;
revoke all on all tables in schema metl from public;
revoke all on all functions in schema metl from public;
revoke all on type
    metl._given_attribute, metl._known_attribute, metl._cell_fate, metl.planned_cell, metl._block_content,
    metl.registry_event, metl.mapping_line, metl._read_line
from public;

do $$
declare
    -- views and functions                                  reader  job  steward
    _access constant text[][] := array[
        ['view', 'schema_versions, schema_attributes, schema_refs', 'x', 'x', 'x'],
        ['view', 'entity_versions, entity_attributes',            'x', 'x', 'x'],
        ['view', 'decompaction, dusb, progressions',              'x', 'x', 'x'],
        ['view', 'states, schema_changes',                        'x', 'x', 'x'],
        ['view', 'topics, topic_rules, jobs, job_batches',        'x', 'x', 'x'],
        ['view', 'dead_letters, dead_letter_counts, due_letters', 'x', 'x', 'x'],
        ['view', 'dead_positions, operations, connectors',        'x', 'x', 'x'],
        ['view', 'registry_versions, registry_readings, registry_work', 'x', '', 'x'],
        ['view', 'notices, plans, waiting_versions, policies, column_policies', 'x', '', 'x'],
        ['view', 'type, accepted_type',                           'x', '',  'x'],
        ['call', 'current_state, decompaction_at, diff',          'x', 'x', 'x'],
        ['call', 'matrix_at, outdated',                           'x', 'x', 'x'],
        ['call', 'matrix_block, feeds, fed_by, search',           'x', 'x', 'x'],
        ['call', 'progression, coverage, policy_of, check',       'x', '',  'x'],
        ['call', 'simulate, plan_schema_version, plan_schema_version_end', 'x', '', 'x'],
        ['call', 'plan_entity_version, plan_entity_version_end, plan_block, plan_run', 'x', '', 'x'],
        ['call', 'draft_entity_version, check_mappings, plan_mappings, plan_renames', 'x', '', 'x'],
        ['call', 'cast_effect',                                   'x', 'x', 'x'],
        ['call', 'add_schema_version, delete_schema_version, set_refs', '',  '',  'x'],
        ['call', 'add_entity_version, delete_entity_version',     '',  '',  'x'],
        ['call', 'set_block, set_run, set_blocks, set_policy',    '',  '',  'x'],
        ['call', 'set_mappings, set_column_policy, clear_columns', '',  '',  'x'],
        ['call', 'confirm_plan, reject_plan, confirm_notices',    '',  '',  'x'],
        ['call', 'note_registry_versions, take_registry_version', '',  '',  'x'],
        ['call', 'end_registry_version, retry_registry_versions', '',  '',  'x'],
        ['call', 'set_topic, unset_topic',                        '',  '',  'x'],
        ['call', 'start_job, begin_batch, report_job, record_batch', '', 'x', ''],
        ['call', 'stop_job',                                      '',  'x', 'x'],
        ['view', 'warehouse_columns',                             'x', 'x', 'x'],
        ['call', 'open_warehouse, staged_entities, merge_warehouse', '', 'x', ''],
        ['call', 'open_initial_load, merge_initial_load',         '',  'x', 'x'],
        ['call', 'forget_warehouse_table, forget_positions',      '',  '',  'x'],
        ['call', 'begin_operation, end_operation',                '',  'x', 'x'],
        ['call', 'report_connectors',                             '',  'x', 'x'],
        ['call', 'collect_letters, send_due_letters',             '',  'x', ''],
        -- Payloads are business data.
        ['call', 'letter_payload, send_letters, give_up_letters', '',  '',  'x']
    ];
    _roles constant text[] := array['metl_reader', 'metl_job', 'metl_steward'];
    _line text[];
    _object text;
begin
    for _column in 1 .. cardinality(_roles) loop
        if not exists (select from pg_roles where rolname = _roles[_column]) then
            raise notice 'There is no role %: run sql/roles.sql and then sql/grants.sql to let it in.', _roles[_column];
            continue;
        end if;
        -- What an older matrix gave is taken back first.
        execute format('revoke all on schema metl from %I', _roles[_column]);
        execute format('revoke all on all tables in schema metl from %I', _roles[_column]);
        execute format('revoke all on all sequences in schema metl from %I', _roles[_column]);
        execute format('revoke all on all functions in schema metl from %I', _roles[_column]);
        execute format('grant usage on schema metl, warehouse to %I', _roles[_column]);
        execute format('grant select on warehouse._rejected to %I', _roles[_column]);
        foreach _line slice 1 in array _access loop
            continue when _line[2 + _column] = '';
            foreach _object in array string_to_array(_line[2], ', ') loop
                if _line[1] = 'view' then
                    execute format('grant select on metl.%I to %I', _object, _roles[_column]);
                else
                    -- Under one name there may be several functions.
                    execute (
                        select string_agg(format('grant execute on function %s to %I;', oid::regprocedure, _roles[_column]), '')
                        from pg_proc
                        where pronamespace = 'metl'::regnamespace and proname = _object
                    );
                end if;
            end loop;
        end loop;
    end loop;
end $$;
