"""Values of an older state in the shape that their column has now: structs get fields, numbers wider types.

Spark casts no struct to one with more fields, and a comparison of both, or a hash, needs one shape.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known
from pyspark.sql.types import ArrayType, DataType, MapType, StructType


def reshaped(value: Column, then: DataType, now: DataType) -> Column:
    """`value`, which has the type `then`, in the type `now`. A field of a struct is known by its name: one that was
    added since is null, one that was dropped since is left out. Keys of maps stay as they are."""
    if isinstance(then, StructType) and isinstance(now, StructType):
        kept = {field.name: field.dataType for field in then.fields}
        fields = [
            (
                reshaped(value[field.name], kept[field.name], field.dataType)
                if field.name in kept
                else F.lit(None).cast(field.dataType)
            ).alias(field.name)
            for field in now.fields
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(then, ArrayType) and isinstance(now, ArrayType):
        of_then, of_now = then.elementType, now.elementType
        return F.transform(value, lambda each: reshaped(each, of_then, of_now))
    if isinstance(then, MapType) and isinstance(now, MapType):
        was, is_now = then.valueType, now.valueType
        return F.transform_values(value, lambda _, each: reshaped(each, was, is_now))
    return value if then == now else value.cast(now)
