"""Hudi's wrappers: records of one value each, in column statistics and as ordering values (0.15.0 to 1.2.0)."""

from decimal import Decimal

WRAPPERS = {
    "BooleanWrapper": "boolean",
    "IntWrapper": "int",
    "LongWrapper": "long",
    "FloatWrapper": "float",
    "DoubleWrapper": "double",
    "BytesWrapper": "bytes",
    "StringWrapper": "string",
    "DateWrapper": "int",
    "DecimalWrapper": "bytes",
    "TimeMicrosWrapper": "long",
    "TimestampMicrosWrapper": "long",
}
"""In the order of Hudi's unions, with the type of the value as Avro stores it."""
LOCAL_DATE = "LocalDateWrapper"
DECIMAL = "DecimalWrapper"
DECIMAL_SCALE = 15
"""Digits behind the point of a ``DecimalWrapper``."""


def decimal_of(body: bytes, scale: int = DECIMAL_SCALE) -> Decimal:
    """A decimal out of its unscaled number."""
    # From text: arithmetic would round to 28 digits.
    return Decimal(f"{int.from_bytes(body, 'big', signed=True)}E-{scale}")
