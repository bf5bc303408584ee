-- Data of every kind that the oldest release can hold.
insert into metl.accepted_type (source_type, type) values ('our_money', 'decimal');
select metl.add_schema_version('orders', 1, '[
    {"name": "id", "type": "int32"}, {"name": "customer", "type": "string", "optional": true, "description": "Who buys."},
    {"name": "total", "type": "our_money"}
]');
select metl.add_schema_version('orders', 2, '[
    {"name": "id", "type": "int32"}, {"name": "buyer", "type": "string", "renamed_from": "customer"},
    {"name": "total", "type": "our_money"}
]');
select metl.add_schema_version('gone', 1, '[{"name": "a", "type": "int32"}]');
select metl.delete_schema_version('gone', 1);
select metl.add_entity_version('order', 1, '[{"name": "number", "type": "integer"}, {"name": "who", "type": "string"}]');
select metl.set_run('orders', 1, 'order', 1, '{"number": "id", "who": "customer"}');
select metl.set_block('orders', 2, 'order', 1, '{"number": "id"}');
select metl.add_entity_version('order', 2, '[
    {"name": "number", "type": "integer"}, {"name": "who", "type": "string"}, {"name": "sum", "type": "decimal"}
]');
select metl.add_entity_version('dropped', 1, '[{"name": "x", "type": "integer"}]');
select metl.delete_entity_version('dropped', 1);
-- A version that loses cells leaves a notice; under policy confirm it waits.
select metl.add_schema_version('orders', 3, '[{"name": "buyer", "type": "string"}, {"name": "total", "type": "our_money"}]');
select metl.set_block('orders', 3, 'order', 2, '{"who": "buyer", "sum": "total"}');
select metl.set_policy('orders', 'order', 'confirm');
select metl.set_policy(null, null, 'auto');
select metl.add_schema_version('orders', 4, '[{"name": "total", "type": "our_money"}]');
select metl.reject_plan(1);
select metl.add_schema_version('orders', 5, '[{"name": "total", "type": "our_money"}]');
select metl.confirm_plan(2);
select metl.add_schema_version('orders', 6, '[{"name": "other", "type": "int32"}]');
select metl.confirm_notices(1);
