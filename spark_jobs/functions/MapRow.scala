package metl

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays
import java.util.concurrent.atomic.AtomicReferenceArray

import org.apache.spark.sql.api.java.UDF2

/** Algorithm 6 for one row and one block: the intersection of what the row has with what the block maps.
  *
  * Takes the row and the block's mapping, {"entity attribute": "attribute", …}. Gives an object of the entity's
  * attributes with the row's values, byte for byte, without nulls; and a list of the attributes whose values the
  * database did not log, null if there are none. Null if there is no row. */
class MapRow extends UDF2[Array[Byte], Array[Byte], Array[Array[Byte]]] {
  // A row comes once for each of its entities, one after the other.
  @transient @volatile private var last: Members = null

  override def call(row: Array[Byte], mapping: Array[Byte]): Array[Array[Byte]] = {
    if (row == null || mapping == null) return null
    val cells = cellsOf(row)
    val block = MapRow.blockOf(mapping)
    if (cells == null || block == null) return null
    val values = new MapRow.Enclosed('{', row.length + mapping.length)
    var unavailable: MapRow.Enclosed = null
    var pair = 0
    while (pair < block.count) {
      val cell = cells.find(mapping, block.begin(pair), block.end(pair))
      if (cell >= 0 && row(cells.begin(cell)) != 'n') {
        if (Unavailable.is(row, cells.begin(cell), cells.end(cell))) {
          if (unavailable == null) unavailable = new MapRow.Enclosed('[', mapping.length)
          unavailable.next(mapping, block.name(pair), block.nameEnd(pair))
        } else {
          values.next(mapping, block.name(pair), block.nameEnd(pair))
          values.write(':')
          values.write(row, cells.begin(cell), cells.end(cell) - cells.begin(cell))
        }
      }
      pair += 1
    }
    Array(values.closed('}'), if (unavailable == null) null else unavailable.closed(']'))
  }

  private def cellsOf(row: Array[Byte]): Members = {
    val known = last
    if (known != null && Arrays.equals(known.bytes, row)) known
    else {
      val found = Members.of(row)
      last = found
      found
    }
  }
}

object MapRow {
  // Few blocks are unique: each is read once, unless another one takes its place.
  private val Blocks = new AtomicReferenceArray[Members](1024)

  private def blockOf(mapping: Array[Byte]): Members = {
    val place = Math.floorMod(Arrays.hashCode(mapping), Blocks.length)
    val known = Blocks.get(place)
    if (known != null && Arrays.equals(known.bytes, mapping)) known
    else {
      val found = Members.of(mapping)
      if (found != null) Blocks.set(place, found)
      found
    }
  }

  private class Enclosed(open: Char, size: Int) extends ByteArrayOutputStream(size + 2) {
    write(open)

    def next(bytes: Array[Byte], from: Int, end: Int): Unit = {
      if (count > 1) write(',')
      write(bytes, from, end - from)
    }

    def closed(close: Char): Array[Byte] = {
      write(close)
      toByteArray
    }
  }
}

/** How Debezium writes a large value that did not change, which PostgreSQL does not log: as text, bytes or list. */
private object Unavailable {
  private val Spellings =
    Array("\"__debezium_unavailable_value\"", "\"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==\"").map(_.getBytes(UTF_8))
  private val Shortest = Spellings(0).length

  def is(bytes: Array[Byte], from: Int, end: Int): Boolean =
    end - from >= Shortest && (bytes(from) match {
      case '"' => Spellings.exists(text => Text.isSame(bytes, from, end, text, 0, text.length))
      case '[' =>
        val begin = Json.space(bytes, from + 1)
        bytes(begin) == '"' && {
          val behind = Json.value(bytes, begin)
          bytes(Json.space(bytes, behind)) == ']' && Json.space(bytes, behind) == end - 1 &&
          Text.isSame(bytes, begin, behind, Spellings(0), 0, Shortest)
        }
      case _ => false
    })
}
