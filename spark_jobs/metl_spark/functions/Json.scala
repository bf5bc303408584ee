package metl

import java.nio.charset.StandardCharsets.UTF_8

/** A strict JSON parser (RFC 8259) that works in place. A value is its start and end, never rendered anew: what is
  * taken out of a document is byte for byte what came in.
  *
  * A method that takes a position returns the position after what begins there, or Malformed.
  */
private[metl] object Json {
  val Malformed: Int = -1
  // A usual limit of parsers, far from a stack overflow.
  private val MaxDepth = 1000
  private val Literals = Seq("true", "false", "null").map(_.getBytes(UTF_8)).toArray

  def value(bytes: Array[Byte], at: Int, depth: Int = 0): Int =
    if (at >= bytes.length || depth > MaxDepth) Malformed
    else
      bytes(at) match {
        case '"' => string(bytes, at)
        case '{' => members(bytes, at, depth, null)
        case '[' => elements(bytes, at, depth)
        case 't' => literal(bytes, at, Literals(0))
        case 'f' => literal(bytes, at, Literals(1))
        case 'n' => literal(bytes, at, Literals(2))
        case _   => number(bytes, at)
      }

  def space(bytes: Array[Byte], from: Int): Int = {
    var at = from
    while (at < bytes.length && isSpace(bytes(at))) at += 1
    at
  }

  /** Members of an object; added to `into`, unless it is null. */
  def members(bytes: Array[Byte], from: Int, depth: Int, into: Members): Int = {
    var at = space(bytes, from + 1)
    if (is(bytes, at, '}')) return at + 1
    while (true) {
      val name = at
      val nameEnd = if (is(bytes, at, '"')) string(bytes, at) else Malformed
      if (nameEnd == Malformed) return Malformed
      at = space(bytes, nameEnd)
      if (!is(bytes, at, ':')) return Malformed
      val begin = space(bytes, at + 1)
      val end = value(bytes, begin, depth + 1)
      if (end == Malformed) return Malformed
      if (into != null) into.add(name, nameEnd, begin, end)
      at = space(bytes, end)
      if (is(bytes, at, '}')) return at + 1
      if (!is(bytes, at, ',')) return Malformed
      at = space(bytes, at + 1)
    }
    Malformed
  }

  private def elements(bytes: Array[Byte], from: Int, depth: Int): Int = {
    var at = space(bytes, from + 1)
    if (is(bytes, at, ']')) return at + 1
    while (true) {
      at = value(bytes, at, depth + 1)
      if (at == Malformed) return Malformed
      at = space(bytes, at)
      if (is(bytes, at, ']')) return at + 1
      if (!is(bytes, at, ',')) return Malformed
      at = space(bytes, at + 1)
    }
    Malformed
  }

  private def string(bytes: Array[Byte], from: Int): Int = {
    var at = from + 1
    while (at < bytes.length) {
      val byte = bytes(at)
      if (byte == '"') return at + 1
      if (byte >= ' ' && byte != '\\') at += 1
      else {
        at = if (byte == '\\') escape(bytes, at) else if (byte < 0) Utf8.character(bytes, at) else Malformed
        if (at == Malformed) return Malformed
      }
    }
    Malformed
  }

  private def escape(bytes: Array[Byte], at: Int): Int =
    if (at + 1 >= bytes.length) Malformed
    else
      bytes(at + 1) match {
        case '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => at + 2
        case 'u' if at + 6 <= bytes.length && (2 to 5).forall(n => Character.digit(bytes(at + n), 16) >= 0) => at + 6
        case _ => Malformed
      }

  private def number(bytes: Array[Byte], from: Int): Int = {
    val whole = if (is(bytes, from, '-')) from + 1 else from
    var at = if (is(bytes, whole, '0')) whole + 1 else digits(bytes, whole)
    if (at != Malformed && is(bytes, at, '.')) at = digits(bytes, at + 1)
    if (at != Malformed && (is(bytes, at, 'e') || is(bytes, at, 'E'))) {
      val signed = is(bytes, at + 1, '+') || is(bytes, at + 1, '-')
      at = digits(bytes, if (signed) at + 2 else at + 1)
    }
    at
  }

  /** At least one. */
  private def digits(bytes: Array[Byte], from: Int): Int = {
    var at = from
    while (at < bytes.length && bytes(at) >= '0' && bytes(at) <= '9') at += 1
    if (at > from) at else Malformed
  }

  private def literal(bytes: Array[Byte], at: Int, literal: Array[Byte]): Int = {
    val end = at + literal.length
    if (end <= bytes.length && java.util.Arrays.equals(bytes, at, end, literal, 0, literal.length)) end else Malformed
  }

  private def is(bytes: Array[Byte], at: Int, expected: Char): Boolean = at < bytes.length && bytes(at) == expected

  private def isSpace(byte: Byte): Boolean = byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'
}
