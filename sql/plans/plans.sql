create or replace view metl.plans as
select
    plan_id,
    kind,
    name,
    version,
    attributes,
    created_at,
    created_by,
    coalesce(decision, 'waiting') as decision,
    decided_at,
    decided_by,
    state,
    refs,
    lost,
    description,
    likely_renames,
    renames
from metl.waiting_plan;
comment on view metl.plans is 'Updates that wait for confirmation, and those that were confirmed or rejected.';
