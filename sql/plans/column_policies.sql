create or replace view metl.column_policies as
select live.entity, live.entity_attribute, policy.policy, policy.set_by, policy.set_at
from metl.column_policy as policy
inner join metl.entity_attributes as live
    on policy.entity_attribute_id = live.entity_attribute_id and live.is_live;
comment on view metl.column_policies is
'The policies of columns that were set: what becomes of values that nothing feeds any more.';
