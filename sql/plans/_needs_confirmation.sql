create or replace function metl._needs_confirmation(plan metl._cell_fate[]) returns boolean
language sql stable
as $$
    select exists (
        select from (
            select distinct cell.schema_id, cell.entity_id
            from unnest(plan) as cell
            where cell.fate = 'lost' and cell.reason <> 'frozen'
        ) as losing
        where metl._effective_policy(losing.schema_id, losing.entity_id) = 'confirm'
    )
$$;
comment on function metl._needs_confirmation(metl._cell_fate[]) is
'Whether an update would lose cells whose policy is confirm.';
