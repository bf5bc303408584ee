"""A small company: two shops' worth of tables, four entities, a loss, a plan that waits, a name that came back."""

STORY = """
select metl.add_entity_version('person', 1, '[
    {"name": "number", "type": "integer", "description": "Number under which the person is known"},
    {"name": "name", "type": "string"}]');
select metl.add_schema_version('shop.public.customer', 1, '[
    {"name": "id", "type": "int32"}, {"name": "name", "type": "string"}, {"name": "mail", "type": "string"},
    {"name": "note", "type": "string", "optional": true}]', '{"global_id": 17}');
select metl.set_block('shop.public.customer', 1, 'person', 1, '{"number": "id", "name": "name"}');
select metl.add_entity_version('person', 2, '[
    {"name": "number", "type": "integer", "description": "Number under which the person is known"},
    {"name": "full_name", "type": "string", "renamed_from": "name", "description": "Name as the person writes it"},
    {"name": "email", "type": "string"}, {"name": "phone", "type": "string", "optional": true},
    {"name": "birth_date", "type": "date"}]');
select metl.set_block('shop.public.customer', 1, 'person', 2,
    '{"number": "id", "full_name": "name", "email": "mail"}');
select metl.add_schema_version('shop.public.customer', 2, '[
    {"name": "id", "type": "int64"}, {"name": "name", "type": "string"},
    {"name": "e_mail", "type": "string", "renamed_from": "mail"}]', '{"global_id": 18, "content_id": [3, 8]}');
select metl.add_schema_version('shop.public.customer', 3, '[
    {"name": "id", "type": "int64"}, {"name": "name", "type": "string"}, {"name": "dob", "type": "date"},
    {"name": "mobile", "type": "string"}]');
select metl.add_entity_version('order', 1, '[
    {"name": "number", "type": "integer"}, {"name": "ordered_at", "type": "timestamp"},
    {"name": "amount", "type": "decimal"}, {"name": "status", "type": "string"},
    {"name": "customer_number", "type": "integer"}]');
select metl.add_schema_version('shop.public.orders', 1, '[
    {"name": "order_id", "type": "int64"}, {"name": "created", "type": "timestamp"},
    {"name": "total", "type": "decimal"}, {"name": "customer_id", "type": "int64"}]');
select metl.set_block('shop.public.orders', 1, 'order', 1,
    '{"number": "order_id", "ordered_at": "created", "amount": "total"}');
select metl.add_schema_version('crm.contact', 1, '[
    {"name": "contactNo", "type": "int32"}, {"name": "mobile", "type": "string"},
    {"name": "eMail", "type": "string"}]');
select metl.set_block('crm.contact', 1, 'person', 2, '{"phone": "mobile"}');
select metl.add_entity_version('product', 1, '[{"name": "sku", "type": "string"}]');
select metl.add_schema_version('old.table', 1, '[{"name": "x", "type": "string"}]');
select metl.delete_schema_version('old.table', 1);
select metl.set_policy('shop.public.orders', 'order', 'confirm');
select metl.add_schema_version('shop.public.orders', 2, '[
    {"name": "order_id", "type": "int64"}, {"name": "created", "type": "string"}]');
"""
