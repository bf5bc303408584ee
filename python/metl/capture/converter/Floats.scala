package metl.capture

import java.math.{BigDecimal, MathContext, RoundingMode}

/** Formats double precision numbers in a text as PostgreSQL does: 1 and 1e+23, not 1.0 and 1.0E23. */
private object Floats {
  private val Number = "-?[0-9]+(\\.[0-9]+)?(E-?[0-9]+)?".r
  // PostgreSQL writes no exponent within these.
  private val MaxExponent = 15
  private val MinExponent = -4

  /** The shortest decimal that is nearer to this number than to any other; as in PostgreSQL, a tie does not count. */
  private def shortest(number: Double): BigDecimal = {
    val exact = new BigDecimal(number)
    val ties = Seq(Math.nextUp(number), Math.nextDown(number)).filterNot(_.isInfinite).map { next =>
      exact.add(new BigDecimal(next)).divide(BigDecimal.valueOf(2))
    }
    Iterator
      .range(1, 18)
      .map(digits => exact.round(new MathContext(digits, RoundingMode.HALF_EVEN)))
      .find(rounded => rounded.doubleValue == number && !ties.exists(_.compareTo(rounded) == 0))
      .getOrElse(exact)
  }

  def asPostgres(text: String): String = Number.replaceAllIn(text, number => format(number.matched))

  private def format(number: String): String = {
    val value = shortest(number.toDouble).stripTrailingZeros
    val exponent = value.precision - value.scale - 1
    val sign = if (number.startsWith("-")) "-" else ""
    if (value.signum == 0) s"${sign}0"
    else if (exponent >= MinExponent && exponent < MaxExponent) value.toPlainString
    else {
      val digits = value.unscaledValue.abs.toString
      val fraction = if (digits.length > 1) s".${digits.tail}" else ""
      f"$sign${digits.head}$fraction" + (if (exponent < 0) "e-" else "e+") + f"${exponent.abs}%02d"
    }
  }
}
