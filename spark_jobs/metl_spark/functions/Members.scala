package metl

import java.util.{Arrays, HashMap}

/** Where the names and values of an object's members are. */
private[metl] final class Members(val bytes: Array[Byte]) {
  private var places = new Array[Int](64)
  private var hasEscapes = false
  var count = 0

  def add(name: Int, nameEnd: Int, begin: Int, end: Int): Unit = {
    if (4 * count == places.length) places = Arrays.copyOf(places, 2 * places.length)
    places(4 * count) = name
    places(4 * count + 1) = nameEnd
    places(4 * count + 2) = begin
    places(4 * count + 3) = end
    count += 1
    hasEscapes = hasEscapes || Text.hasEscape(bytes, name, nameEnd)
  }

  def name(member: Int): Int = places(4 * member)
  def nameEnd(member: Int): Int = places(4 * member + 1)
  def begin(member: Int): Int = places(4 * member + 2)
  def end(member: Int): Int = places(4 * member + 3)

  /** The member that has the name of this JSON string; of several the last one, as everywhere; -1 if there is none. */
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
    val found = new HashMap[String, Int](2 * count)
    for (member <- 0 until count) found.put(Text.of(bytes, name(member), nameEnd(member)), member)
    found
  }
}

private[metl] object Members {
  // Up to here, looking at each is faster than making a table of them.
  private val Few = 24

  /** Null unless the bytes are one whole object. */
  def of(bytes: Array[Byte]): Members = {
    if (bytes == null) return null
    val begin = Json.space(bytes, 0)
    if (begin == bytes.length || bytes(begin) != '{') return null
    val found = new Members(bytes)
    val end = Json.members(bytes, begin, 0, found)
    if (end == Json.Malformed || Json.space(bytes, end) != bytes.length) null else found
  }
}
