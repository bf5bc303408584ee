package metl

private[metl] object Utf8 {

  /** The position after a character of several bytes; Malformed if they are not one. */
  def character(bytes: Array[Byte], at: Int): Int = {
    val first = bytes(at) & 0xff
    val length = if (first < 0xc2) 0 else if (first < 0xe0) 2 else if (first < 0xf0) 3 else if (first < 0xf5) 4 else 0
    if (length == 0 || at + length > bytes.length || !isPermitted(first, bytes(at + 1) & 0xff)) Json.Malformed
    else if ((2 until length).forall(n => isContinuation(bytes(at + n) & 0xff))) at + length
    else Json.Malformed
  }

  /** No overlong encoding, no surrogate, nothing beyond U+10FFFF. */
  private def isPermitted(first: Int, second: Int): Boolean = first match {
    case 0xe0 => second >= 0xa0 && second <= 0xbf
    case 0xed => second >= 0x80 && second <= 0x9f
    case 0xf0 => second >= 0x90 && second <= 0xbf
    case 0xf4 => second >= 0x80 && second <= 0x8f
    case _    => isContinuation(second)
  }

  private def isContinuation(byte: Int): Boolean = byte >= 0x80 && byte <= 0xbf
}
