create or replace function metl.cast_effect(type text, target text) returns text
language sql immutable
return case
    when type = target then 'same'
    when
        target = 'any'
        -- Almost anything can be written down.
        or (target = 'string' and type <> 'bytes')
        or (
            target = 'json'
            and type in ('integer', 'decimal', 'float', 'boolean', 'object', 'array', 'geometry', 'any')
        )
        or (type, target) in (('integer', 'decimal'), ('date', 'timestamp'), ('time', 'interval'), ('string', 'bytes'))
        then 'widening'
    when
        type in ('string', 'json', 'any')
        or (type, target) in (
            ('integer', 'float'), ('decimal', 'integer'), ('decimal', 'float'),
            ('float', 'integer'), ('float', 'decimal'), ('timestamp', 'date'), ('interval', 'time'),
            ('object', 'array'), ('array', 'object'), ('object', 'geometry'), ('geometry', 'object')
        )
        then 'may not fit'
    else 'no cast'
end;
comment on function metl.cast_effect(text, text) is
'What mapping an attribute of one generalized type to an entity attribute of another does to its values: same, '
'widening (all fit), may not fit (some may be refused) or no cast (in the warehouse all are).';
