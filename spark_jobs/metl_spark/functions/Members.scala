package metl

import java.util.{Arrays, HashMap}

/** The positions of the names and values of an object's members. */
private[metl] final class Members(val bytes: Array[Byte]) {
  private var positions = new Array[Int](64)
  private var hasEscapes = false
  var count = 0

  def add(name: Int, nameEnd: Int, begin: Int, end: Int): Unit = {
    if (4 * count == positions.length) positions = Arrays.copyOf(positions, 2 * positions.length)
    positions(4 * count) = name
    positions(4 * count + 1) = nameEnd
    positions(4 * count + 2) = begin
    positions(4 * count + 3) = end
    count += 1
    hasEscapes = hasEscapes || Text.hasEscape(bytes, name, nameEnd)
  }

  def name(member: Int): Int = positions(4 * member)
  def nameEnd(member: Int): Int = positions(4 * member + 1)
  def begin(member: Int): Int = positions(4 * member + 2)
  def end(member: Int): Int = positions(4 * member + 3)

  /** The member named by this JSON string; the last one of several, as everywhere; -1 if there is none. */
  def find(string: Array[Byte], from: Int, end: Int): Int =
    if (count > Members.Few) byName.getOrDefault(Text.of(string, from, end), -1)
    else {
      val isSpelledOneWay = !hasEscapes && !Text.hasEscape(string, from, end)
      var member = count - 1
      while (member >= 0 && !isNamed(member, string, from, end, isSpelledOneWay)) member -= 1
      member
    }

  private def isNamed(member: Int, string: Array[Byte], from: Int, end: Int, isSpelledOneWay: Boolean): Boolean = {
    val begin = name(member)
    if (isSpelledOneWay)
      nameEnd(member) - begin == end - from && Arrays.equals(bytes, begin, nameEnd(member), string, from, end)
    else Text.isSame(bytes, begin, nameEnd(member), string, from, end)
  }

  private lazy val byName: HashMap[String, Int] = {
    val index = new HashMap[String, Int](2 * count)
    for (member <- 0 until count) index.put(Text.of(bytes, name(member), nameEnd(member)), member)
    index
  }
}

private[metl] object Members {
  // Up to here a linear search is faster than a hash table.
  private val Few = 24

  /** Null unless the bytes are exactly one object. */
  def of(bytes: Array[Byte]): Members = {
    if (bytes == null) return null
    val begin = Json.space(bytes, 0)
    if (begin == bytes.length || bytes(begin) != '{') return null
    val members = new Members(bytes)
    val end = Json.members(bytes, begin, 0, members)
    if (end == Json.Malformed || Json.space(bytes, end) != bytes.length) null else members
  }
}
