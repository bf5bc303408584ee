"""Spark SQL functions in Scala that read JSON and copy its bytes.

columns       the functions, as columns
jar           the jar that they are compiled into

Json.scala    the parser, since others (Jackson, get_json_object, variants) write values anew and change 1.10 or 1e400;
              Members, Text and Utf8 belong to it
Json*.scala   a function each, as MapRow.scala, which maps a row by a block
Copy.scala    COPY into PostgreSQL, for the warehouse
"""
