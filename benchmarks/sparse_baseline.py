"""The sparse baseline: Algorithm 1 of the paper, which keeps every element of the matrix."""

from matrix_load import Matrix
from matrix_report import megabytes, milliseconds
from rich.table import Table

EXPONENT = 7
LOOKUPS = 200
SPARSE = """
create table sparse as
select
    substr(source.schema, 2)::smallint as schema, source.version::smallint, source.position::smallint as attribute,
    substr(target.entity, 3)::smallint as entity, target.entity_version::smallint,
    target.position::smallint as entity_attribute, (one.schema is not null)::int::smallint as value
from metl.schema_attributes as source
cross join metl.entity_attributes as target
left join metl.decompaction as one
    on (source.schema, source.version, source.attribute) = (one.schema, one.version, one.attribute)
    and (target.entity, target.entity_version, target.entity_attribute)
    = (one.entity, one.entity_version, one.entity_attribute);
create index sparse_column on sparse (schema, version);
"""


def measure(matrix: Matrix) -> Table:
    matrix.connection.execute(SPARSE.encode())
    matrix.connection.execute("vacuum analyze sparse")
    scan = "select * from sparse where schema = %s and version = %s and value = 1"
    column = "select * from metl.decompaction where schema = %s and version = %s"
    for schema in matrix.rng.choices(matrix.schemas, k=LOOKUPS):
        version = matrix.rng.choice(schema.live)
        for prepare, how in ((False, ""), (True, ", prepared")):
            matrix.measure(f"scan{how}", scan, (int(schema.name[1:]), version), prepare=prepare)
            matrix.measure(f"column set{how}", column, (schema.name, version), prepare=prepare)
    elements = matrix.ask("select count(*) from sparse")
    sparse = matrix.ask("select pg_total_relation_size('sparse')")
    stored = matrix.ask("select pg_total_relation_size('metl.block') + pg_total_relation_size('metl.cell')")
    assert matrix.ask("select sum(value) from sparse") == matrix.ask("select count(*) from metl.decompaction")
    matrix.connection.execute("drop table sparse")

    table = Table(f"{elements:,} elements", "every element", "METL", "ratio", title="The sparse baseline")
    table.add_row("stored bytes", megabytes(sparse), megabytes(stored), f"{sparse / stored:,.0f}")
    table.add_row("… at 10^9 elements, extrapolated", megabytes(sparse * 100), "see above", "")
    for how in ("", ", prepared"):
        scanned, mapped = matrix.median(f"scan{how}"), matrix.median(f"column set{how}")
        table.add_row(f"one column{how}, p50", milliseconds(scanned), milliseconds(mapped), f"{scanned / mapped:.1f}")
    return table
