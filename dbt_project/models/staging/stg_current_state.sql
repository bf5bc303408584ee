-- States have no gaps, so the highest is the current one; before the first change it is 0.
select coalesce(max(state), 0) as state
from {{ source('metl', 'states') }}
