-- Has another column now: one for rows that are not there yet.
drop function if exists metl._warehouse_statements(text, text, text, bigint, text, int);

insert into metl.migration (number, name) values (15, 'fresh rows') on conflict do nothing;
