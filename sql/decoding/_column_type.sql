create or replace function metl._column_type(type text) returns text
language sql immutable
return case type
    when 'integer' then 'bigint'
    when 'decimal' then 'numeric'
    when 'float' then 'double precision'
    when 'boolean' then 'boolean'
    when 'string' then 'text'
    when 'bytes' then 'bytea'
    when 'date' then 'date'
    when 'time' then 'time without time zone'
    when 'timestamp' then 'timestamp with time zone'
    when 'interval' then 'interval'
    when 'uuid' then 'uuid'
    else 'jsonb'
end;
comment on function metl._column_type(text) is 'The type of the column of an attribute, by its generalized type.';
