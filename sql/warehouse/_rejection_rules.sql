create or replace function metl._rejection_rules() returns table (condition text, reason text)
language sql immutable
begin atomic
    select rule.*
    from (
        values
        (
            'num_nulls(work.source, work.partition, work."offset", work.state) > 0 '
            'or concat(work.partition, '' '', work."offset", '' '', work.state, '' '', coalesce(work.version, ''0''), '
            ''' '', coalesce(work.at, ''0'')) !~ ''^-?[0-9]{1,9} -?[0-9]{1,18} [0-9]{1,18} [0-9]{1,9} -?[0-9]{1,18}$''',
            'It has no position.'
        ),
        ('work.op is null or work.op not in (''c'', ''r'', ''u'', ''d'', ''t'')', 'It does not say what happened.'),
        ('work.key is null or work.key = ''null'' and work.op in (''u'', ''d'')', 'It has no key.')
    ) as rule (condition, reason);
end;
comment on function metl._rejection_rules() is
'Conditions, as SQL, under which a record is malformed, and the reason to give.';
