create or replace view metl.policies as
select schema.name as schema, entity.name as entity, policy.policy, policy.set_by, policy.set_at
from metl.policy
left join metl.schema on policy.schema_id = schema.schema_id
left join metl.entity on policy.entity_id = entity.entity_id;
comment on view metl.policies is 'The policies that were set; null stands for every schema or every entity.';
