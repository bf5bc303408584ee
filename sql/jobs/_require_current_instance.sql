create or replace function metl._require_current_instance(job text, instance uuid) returns metl.job
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found metl.job := metl._require_job(job);
begin
    if _found.instance is distinct from instance then
        raise exception using
            errcode = 'object_in_use',
            message = format('Instance %s of job %L was superseded.', coalesce(instance::text, 'null'), job),
            detail = format('Instance %s took over at %s.', _found.instance, _found.started_at),
            hint = 'Stop here: the other instance goes on.';
    end if;
    return _found;
end $$;
comment on function metl._require_current_instance(text, uuid) is
'A job; an error if another instance of it has taken over.';
