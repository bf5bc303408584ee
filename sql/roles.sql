-- What an administrator does once per PostgreSQL server; everything after it is the owner's work.
--
--     METL_PASSWORD=… METL_MAPPER_PASSWORD=… psql -v ON_ERROR_STOP=1 -f sql/roles.sql
--
-- Running it again changes nothing. METL itself never works as a superuser.
\getenv password METL_PASSWORD
\if :{?password}
\else
\warn 'Set METL_PASSWORD to the password that metl_owner is to have.'
\quit
\endif

-- createrole: the owner hands out the roles of stewards, jobs and readers.
-- createdb: tests and dbt work in databases of their own.
-- replication: Debezium reads the change log.
select
    format(
        'create role metl_owner login createrole createdb replication password %L',
        :'password'
    )
where not exists (select from pg_roles where rolname = 'metl_owner')
\gexec

-- Roles to grant to people and programs; sql/grants.sql says what each may do.
select format('create role %I nologin', role.name)
from (values ('metl_steward'), ('metl_job'), ('metl_reader')) as role (name)
where not exists (select from pg_roles as r where r.rolname = role.name)
\gexec
select format('grant %I to metl_owner with admin option', role.name)
from (values ('metl_steward'), ('metl_job'), ('metl_reader')) as role (name)
\gexec

-- Who the jobs log in as, where METL_MAPPER_PASSWORD gives it a password: it may what jobs may, and nothing else.
\getenv mapper_password METL_MAPPER_PASSWORD
\if :{?mapper_password}
select format('create role metl_mapper login password %L', :'mapper_password')
where not exists (select from pg_roles where rolname = 'metl_mapper')
\gexec
grant metl_job to metl_mapper;
\endif

select 'create database metl owner metl_owner'
where not exists (select from pg_database where datname = 'metl')
\gexec
