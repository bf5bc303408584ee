#!/bin/sh
# PostgreSQL's image runs this once, when its data folder is new.
METL_PASSWORD=$(cat /run/secrets/metl_password) psql -v ON_ERROR_STOP=1 -U postgres -f /metl/roles.sql
