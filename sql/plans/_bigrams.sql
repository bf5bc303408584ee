create or replace function metl._bigrams(name text) returns text[]
language sql immutable
as $$
    select array(
        select distinct substr(letters.text, place, 2)
        from (
            select coalesce(
                nullif(lower(regexp_replace(_bigrams.name, '[[:punct:][:space:]]', '', 'g')), ''), _bigrams.name
            ) as text
        ) as letters
        cross join generate_series(1, greatest(length(letters.text) - 1, 1)) as place
    )
$$;
comment on function metl._bigrams(text) is
'The pairs of adjacent characters in a name, ignoring case and underscores.';
