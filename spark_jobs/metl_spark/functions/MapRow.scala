package metl

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Arrays, Base64, UUID}
import java.util.concurrent.atomic.AtomicReferenceArray

import org.apache.spark.sql.api.java.UDF2

/** Algorithm 6 for one row and one block: the intersection of the row's attributes with the block's.
  *
  * Takes the row and the block's mapping, {"entity attribute": "attribute", …}. Returns an object of the entity's
  * attributes with the row's values, byte for byte, without nulls; and a list of the attributes whose values the
  * database did not log, null if there are none. Null without a row. */
class MapRow extends UDF2[Array[Byte], Array[Byte], Array[Array[Byte]]] {
  // The same row comes once for each of its entities, in succession.
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
    val previous = last
    if (previous != null && Arrays.equals(previous.bytes, row)) previous
    else {
      val members = Members.of(row)
      last = members
      members
    }
  }
}

object MapRow {
  // Few blocks are unique: each is parsed once, unless another one of the same slot evicts it.
  private val Blocks = new AtomicReferenceArray[Members](1024)

  private def blockOf(mapping: Array[Byte]): Members = {
    val slot = Math.floorMod(Arrays.hashCode(mapping), Blocks.length)
    val cached = Blocks.get(slot)
    if (cached != null && Arrays.equals(cached.bytes, mapping)) cached
    else {
      val members = Members.of(mapping)
      if (members != null) Blocks.set(slot, members)
      members
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

/** How Debezium writes a large value that did not change, which PostgreSQL does not log: as text or bytes, or as a list
  * of text, bytes, numbers or a UUID. */
private object Unavailable {
  private val Placeholder = "__debezium_unavailable_value".getBytes(UTF_8)
  private val Texts = Array(
    new String(Placeholder, UTF_8),
    Base64.getEncoder.encodeToString(Placeholder),
    UUID.nameUUIDFromBytes(Placeholder).toString
  ).map(text => s"\"$text\"".getBytes(UTF_8))
  private val Numbers = Placeholder.mkString("[", ",", "]").getBytes(UTF_8)
  private val Shortest = Texts.map(_.length).min

  def is(bytes: Array[Byte], from: Int, end: Int): Boolean =
    end - from >= Shortest && (bytes(from) match {
      // PostgreSQL never stores a UUID out of line: outside of a list, the third spelling is a value.
      case '"' => isText(bytes, from, end, Texts.length - 1)
      case '[' =>
        val begin = Json.space(bytes, from + 1)
        if (bytes(begin) == '"') {
          val after = Json.value(bytes, begin)
          Json.space(bytes, after) == end - 1 && isText(bytes, begin, after, Texts.length)
        } else Arrays.equals(bytes, from, end, Numbers, 0, Numbers.length)
      case _ => false
    })

  private def isText(bytes: Array[Byte], from: Int, end: Int, spellings: Int): Boolean = {
    var spelling = 0
    while (spelling < spellings) {
      val text = Texts(spelling)
      if (Text.isSame(bytes, from, end, text, 0, text.length)) return true
      spelling += 1
    }
    false
  }
}
