package metl

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/** The text of a JSON string, whether or not it is written with escapes. */
private[metl] object Text {

  /** Of a well-formed string, from its first quote to the position after its last one. */
  def of(bytes: Array[Byte], from: Int, end: Int): String = {
    val raw = new String(bytes, from + 1, end - from - 2, UTF_8)
    if (raw.indexOf('\\') < 0) raw else unescaped(raw)
  }

  def isSame(a: Array[Byte], aFrom: Int, aEnd: Int, b: Array[Byte], bFrom: Int, bEnd: Int): Boolean =
    Arrays.equals(a, aFrom, aEnd, b, bFrom, bEnd) ||
      ((hasEscape(a, aFrom, aEnd) || hasEscape(b, bFrom, bEnd)) && of(a, aFrom, aEnd) == of(b, bFrom, bEnd))

  def hasEscape(bytes: Array[Byte], from: Int, end: Int): Boolean = {
    var at = from
    while (at < end && bytes(at) != '\\') at += 1
    at < end
  }

  private def unescaped(raw: String): String = {
    val text = new java.lang.StringBuilder(raw.length)
    var at = 0
    while (at < raw.length) {
      if (raw.charAt(at) != '\\') {
        text.append(raw.charAt(at))
        at += 1
      } else if (raw.charAt(at + 1) == 'u') {
        text.append(Integer.parseInt(raw.substring(at + 2, at + 6), 16).toChar)
        at += 6
      } else {
        text.append(Escapes.getOrElse(raw.charAt(at + 1), raw.charAt(at + 1)))
        at += 2
      }
    }
    text.toString
  }

  private val Escapes = Map('b' -> '\b', 'f' -> '\f', 'n' -> '\n', 'r' -> '\r', 't' -> '\t')
}
