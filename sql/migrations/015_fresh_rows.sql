-- It returns a statement for new rows as well.
drop function if exists metl._warehouse_statements(text, text, text, bigint, text, int);
