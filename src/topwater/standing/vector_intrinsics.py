"""Compiled: 64 objects at once, with vectors written out, as no compiler finds these by itself.

A mask has a bit for each of 64 rows. With vectors of a fixed length all sums stay in registers
whatever the number of columns, and a comparison becomes a mask at no cost. The vectors are of any
machine: the compiler cuts them into registers as long as that has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

from topwater.standing.lanes import LANES
from topwater.standing.numba_options import compiled

cgutils: Any = _cgutils


def _generated(function: Callable[..., tuple[Any, Any]]) -> Any:
    """To be called from compiled code only, where it has other parameters than here."""
    return intrinsic(function)


_MASK: Final = ir.IntType(LANES)
_INDEX: Final = ir.IntType(32)


@_generated
def squares_within(_typing: Any, columns: Any, row: Any, point: Any, bound: Any) -> tuple[Any, Any]:
    """Which of 64 rows from ``row`` on are so near to a point that the square is at most ``bound``.

    ``squares_within(columns, row, point, bound) → mask``, all in the precision of the columns; a
    product and a sum may be rounded once instead of twice.
    """
    signature = types.uint64(columns, types.intp, point, columns.dtype)
    if not isinstance(row, types.Integer) or not bound == columns.dtype == point.dtype:
        raise TypeError("squares_within takes columns, a row, a point and a bound of one precision")
    vector, size = _vector(columns), columns.dtype.bitwidth // 8

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        columns = context.make_array(signature.args[0])(context, builder, args[0])
        point = context.make_array(signature.args[2])(context, builder, args[2])
        stride = cgutils.unpack_tuple(builder, columns.strides, 2)[0]
        dimensions = cgutils.unpack_tuple(builder, point.shape, 1)[0]
        whole = dimensions.type
        start = builder.mul(args[1], whole(size))
        bytes_ = builder.bitcast(columns.data, ir.IntType(8).as_pointer())

        def apart(column: Any) -> Any:
            at = builder.gep(bytes_, [builder.add(start, builder.mul(column, stride))])
            values = builder.load(builder.bitcast(at, vector.as_pointer()), align=size)
            here = builder.load(builder.gep(point.data, [column]))
            return builder.fsub(values, _spread(builder, vector, here))

        total = cgutils.alloca_once(builder, vector)
        first = apart(whole(0))
        builder.store(builder.fmul(first, first), total)
        with cgutils.for_range(builder, builder.sub(dimensions, whole(1))) as loop:
            more = apart(builder.add(loop.index, whole(1)))
            square = builder.fmul(more, more, flags=("contract",))
            together = builder.fadd(builder.load(total), square, flags=("contract",))
            builder.store(together, total)
        return _not_above(builder, vector, builder.load(total), args[3])

    return signature, generate


@_generated
def squares_within_plane(
    _typing: Any, columns: Any, row: Any, x: Any, y: Any, bound: Any
) -> tuple[Any, Any]:
    """``squares_within`` for two columns, without a loop over them."""
    number = columns.dtype
    signature = types.uint64(columns, types.intp, number, number, number)
    if not isinstance(row, types.Integer) or not bound == x == y == number:
        raise TypeError("squares_within_plane takes columns, a row and numbers of one precision")
    vector, size = _vector(columns), number.bitwidth // 8

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        columns = context.make_array(signature.args[0])(context, builder, args[0])
        stride = cgutils.unpack_tuple(builder, columns.strides, 2)[0]
        first = builder.gep(columns.data, [args[1]])
        bytes_ = builder.bitcast(first, ir.IntType(8).as_pointer())
        squares = []
        for at, here in ((bytes_, args[2]), (builder.gep(bytes_, [stride]), args[3])):
            values = builder.load(builder.bitcast(at, vector.as_pointer()), align=size)
            apart = builder.fsub(values, _spread(builder, vector, here))
            squares.append(builder.fmul(apart, apart, flags=("contract",)))
        total = builder.fadd(*squares, flags=("contract",))
        return _not_above(builder, vector, total, args[4])

    return signature, generate


@_generated
def not_above(_typing: Any, values: Any, at: Any, bound: Any) -> tuple[Any, Any]:
    """Which of 64 values from place ``at`` on are at most ``bound``: a mask."""
    signature = types.uint64(values, types.intp, values.dtype)
    if not isinstance(at, types.Integer) or bound != values.dtype:
        raise TypeError("not_above takes values, a place and a bound")
    vector, size = _vector(values), values.dtype.bitwidth // 8

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = context.make_array(signature.args[0])(context, builder, args[0])
        at = builder.bitcast(builder.gep(values.data, [args[1]]), vector.as_pointer())
        return _not_above(builder, vector, builder.load(at, align=size), args[2])

    return signature, generate


@_generated
def lowest(_typing: Any, mask: Any) -> tuple[Any, Any]:
    """The place of the first bit that is set; one has to be."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.intp(mask), generate


@compiled
def masks(columns: Any, point: Any, bound: Any, out: Any) -> None:
    """All of them for the first 64 rows, to be compared with what another module gives."""
    out[0] = squares_within(columns, 0, point, bound)
    out[1] = squares_within_plane(columns, 0, point[0], point[1], bound)
    out[2] = not_above(columns[0], 0, bound)
    out[3] = lowest(out[2])


def _vector(array: Any) -> ir.VectorType:
    number = ir.FloatType() if array.dtype == types.float32 else ir.DoubleType()
    return ir.VectorType(number, LANES)


def _spread(builder: Any, vector: ir.VectorType, value: Any) -> Any:
    none = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(none, value, _INDEX(0))
    return builder.shuffle_vector(one, none, ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES))


def _not_above(builder: Any, vector: ir.VectorType, values: Any, bound: Any) -> Any:
    """Not a number is above everything."""
    most = _spread(builder, vector, bound)
    return builder.bitcast(builder.fcmp_ordered("<=", values, most), _MASK)
