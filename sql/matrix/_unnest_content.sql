create or replace function metl._unnest_content(content bigint[])
returns table (attribute_id bigint, entity_attribute_id bigint)
language sql immutable
as $$ select content[pair][1], content[pair][2] from generate_subscripts(content, 1) as pair $$;
comment on function metl._unnest_content(bigint[]) is 'The contents of a block as rows.';
