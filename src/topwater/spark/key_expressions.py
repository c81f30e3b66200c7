"""Keys of any type in Spark's own words: as they are inside, and back as the stream had them.

See :class:`topwater.model.KeyForm`. What :mod:`topwater.monitor.key_columns` makes of columns of
Arrow is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from topwater.model.key_form import BETWEEN, DAYS, MICROS, NEGATIVE, POSITIVE, RAISED
from topwater.spark.score_columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column

    from topwater.model import KeyColumn, KeyForm

_DIGITS = "0123456789"
_LACKING = _DIGITS[::-1]
_DAY = 86_400_000_000


def key_inside(form: KeyForm) -> Column:
    """The keys of a stream in one column; null where a part is null, or is none that can be."""
    if form.counted:
        return _number(form.columns[0])
    texts = [_text_inside(column) for column in form.columns]
    if not form.composite:
        return texts[0]
    between = [each for text in texts for each in (text, F.lit(BETWEEN))]
    return F.concat(*between[:-1])


def key_outside(form: KeyForm, inside: Column) -> list[Column]:
    """The columns of a key, by their own names."""
    if form.counted:
        return [_value(form.columns[0], inside).alias(form.names[0])]
    parts = F.split(inside, BETWEEN, -1) if form.composite else F.array(inside)
    return [
        _value_of_text(column, F.get(parts, F.lit(at))).alias(column.name)
        for at, column in enumerate(form.columns)
    ]


def _text_inside(column: KeyColumn) -> Column:
    if column.kind == "text":
        text = F.try_validate_utf8(quoted(column.name))
        for low, high in RAISED:
            text = F.replace(text, F.lit(low), F.lit(high))
        return text
    return _number_text(_signed_digits(column))


def _signed_digits(column: KeyColumn) -> Column:
    """A whole number as text; of a decimal, all its digits."""
    if column.scale is None:
        return _number(column).cast("string")
    # Of a small one Spark may write 1.2E-8, which has the same digits.
    plain = F.substring_index(quoted(column.name).cast("string"), "E", 1)
    digits = F.ltrim(F.translate(plain, "-.", ""), F.lit("0"))
    digits = F.when(digits == "", "0").otherwise(digits)
    return F.when(F.startswith(plain, F.lit("-")), F.concat(F.lit("-"), digits)).otherwise(digits)


def _number_text(text: Column) -> Column:
    """Whole numbers as text in the same order."""
    below = F.translate(F.substr(text, F.lit(2)), _DIGITS, _LACKING)
    return F.when(
        F.startswith(text, F.lit("-")), F.concat(_sign(NEGATIVE, F.length(below)), below)
    ).otherwise(F.concat(_sign(POSITIVE, F.length(text)), text))


def _sign(signs: str, length: Column) -> Column:
    return F.substr(F.lit(signs), length, F.lit(1))


def _number(column: KeyColumn) -> Column:
    """A value as a whole number: null for days and moments that Python does not know."""
    given = quoted(column.name)
    if column.kind == "date":
        return _within(F.unix_date(given).cast("bigint"), DAYS)
    if column.kind == "instant":
        return _within(F.unix_micros(given), MICROS)
    if column.kind == "local":  # as the clock on the wall says, whatever the session's zone
        minutes = F.hour(given) * 60 + F.minute(given)
        seconds = F.extract(F.lit("SECOND"), given)
        within = minutes.cast("bigint") * 60_000_000 + (seconds * 1_000_000).cast("bigint")
        return _within(F.unix_date(given.cast("date")).cast("bigint") * _DAY + within, MICROS)
    return given.cast("bigint")


def _within(number: Column, ends: tuple[int, int]) -> Column:
    return F.when(number.between(*ends), number)


def _value_of_text(column: KeyColumn, text: Column) -> Column:
    if column.kind == "text":
        for low, high in reversed(RAISED):
            text = F.replace(text, F.lit(high), F.lit(low))
        return text
    digits = F.substr(text, F.lit(2))
    positive = F.substr(text, F.lit(1), F.lit(1)) > "O"
    lacking = F.concat(F.lit("-"), F.translate(digits, _DIGITS, _LACKING))
    signed = F.when(positive, digits).otherwise(lacking)
    return _decimal(signed, column.scale) if column.scale else _value(column, signed)


def _decimal(signed: Column, scale: int) -> Column:
    """The decimal with these digits."""
    digits = F.translate(signed, "-", "")
    wide = F.lpad(digits, F.greatest(F.length(digits), F.lit(scale + 1)), "0")
    whole = F.substr(wide, F.lit(1), F.length(wide) - scale)
    text = F.concat(whole, F.lit("."), F.right(wide, F.lit(scale)))
    minus = F.when(F.startswith(signed, F.lit("-")), "-").otherwise("")
    return F.concat(minus, text).cast(f"decimal(38,{scale})")


def _value(column: KeyColumn, number: Column) -> Column:
    """What a whole number, or its text, stands for."""
    if column.scale is not None:
        return number.cast("decimal(38,0)")
    number = number.cast("bigint")
    if column.kind == "boolean":
        return number == 1
    if column.kind == "date":
        return F.date_from_unix_date(number.cast("int"))
    if column.kind == "instant":
        return F.timestamp_micros(number)
    if column.kind == "local":
        within = F.pmod(number, F.lit(_DAY))
        # Rounded, as a double can't tell the last microsecond of a far day from the next day.
        days = F.round((number - within) / _DAY).cast("int")
        seconds = (within.cast("decimal(18,6)") / 1_000_000).cast("decimal(18,6)")
        span = F.make_dt_interval(days=days, secs=seconds)
        return F.lit("1970-01-01").cast("timestamp_ntz") + span
    return number
