"""Workloads of your own: requests to a disk from a generator, as a block trace.

    def logger():
        '''A record of 4 KiB a second for an hour, and a flush each minute.'''
        for minute in range(60):
            at = [(60 * minute + second) * 10**9 for second in range(60)]
            yield Requests(at, "write", [4_096 * (60 * minute + second) for second in range(60)], 4_096)
            yield Requests([at[-1]], "flush", 0, 0)

    traces.write("logger.trace", logger())
    boardlab.life("sd-life", set={"workload.kind": "trace", "trace.file": "logger.trace"})

A generator gives many requests at a time, and no more of them are in memory. The trace is a file in the format
of `blkparse`, so the run can be repeated from it, by the command line and on a cluster too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Union

from . import _arguments as arguments
from ._errors import input_error
from ._files import written_whole

__all__ = ["Requests", "write"]

#: The letters of blkparse for what a request does.
LETTERS = {"read": "R", "write": "W", "discard": "D", "flush": "FN"}
SECTOR = 512
#: What blkparse can say: seconds of nine digits and more, sectors of 64 bits.
MOST = 2**63 - 1


class Requests(NamedTuple):
    """Requests in the order of their times. A column may be one value, which holds for all of them.

    Attributes:
        time_ns: when each comes, in nanoseconds from any beginning on; never back.
        operation: ``read``, ``write``, ``discard`` or ``flush``.
        offset_bytes: where each begins; a multiple of 512.
        size_bytes: how long it is; a multiple of 512, and 0 for a flush.
    """

    time_ns: Sequence[int]
    operation: Union[str, Sequence[str]]
    offset_bytes: Union[int, Sequence[int]]
    size_bytes: Union[int, Sequence[int]]


def write(path: Union[str, os.PathLike[str]], batches: Iterable[Any]) -> int:
    """Writes requests as a block trace: the whole file, or nothing.

    Args:
        path: the file.
        batches: :class:`Requests`, or data frames with the columns ``time_ns``, ``operation``,
            ``offset_bytes`` and ``size_bytes``.

    Returns:
        How many requests it has.

    Raises:
        InputError: a request cannot be; it says which one.

    >>> import tempfile, os
    >>> from boardlab import traces
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two.trace")
    ...     traces.write(path, [traces.Requests([0, 1_000], "write", [0, 4_096], 4_096)])
    2
    """
    name = arguments.path(path, "the path of the trace")
    number = 0
    with written_whole(name) as file:
        for line in _lines(batches):
            file.write(line.encode())
            number += 1
        if not number:
            raise input_error(
                "the trace has no requests",
                found="no requests",
                expected="one at least",
                help="yield Requests(...)",
            )
    return number


def _lines(batches: Iterable[Any]) -> Iterator[str]:
    if not isinstance(batches, Iterable):
        raise _wrong(1, "the generator", batches, "batches of requests: [Requests(...)]")
    number, before = 0, 0
    for batch in batches:
        for time, operation, offset, size in zip(*_columns(batch, number + 1)):
            number += 1
            if time < before:
                raise _wrong(number, "time_ns", time, f"{before:,} or later: times do not go back")
            before = time
            yield _line(number, time, operation, offset, size)


def _columns(batch: Any, number: int) -> list[Sequence[Any]]:
    """The columns of a batch, whose first request has this number, all of the same length."""
    columns: list[Any] = list(batch) if isinstance(batch, Requests) else _of_frame(batch, number)
    count = next((len(one) for one in columns if not _is_one(one)), 1)
    for field, column in zip(Requests._fields, columns):
        if not _is_one(column) and len(column) != count:
            raise _wrong(number, field, f"{len(column)} values", f"{count}, as many as the others, or one")
    return [[column] * count if _is_one(column) else column for column in columns]


def _of_frame(frame: Any, number: int) -> list[Any]:
    if not hasattr(frame, "columns"):
        raise _wrong(number, "the batch", type(frame).__name__, "batches in a list: [Requests(...)]")
    columns = []
    for field in Requests._fields:
        try:
            columns.append(frame[field].to_list())
        except Exception:  # whatever a foreign type raises
            expected = "Requests, or a data frame with its columns"
            raise _wrong(number, field, type(frame).__name__, expected) from None
    return columns


def _is_one(column: Any) -> bool:
    return isinstance(column, (str, int)) or not hasattr(column, "__len__")


def _line(number: int, time: Any, operation: Any, offset: Any, size: Any) -> str:
    letters = LETTERS.get(operation) if isinstance(operation, str) else None
    if letters is None:
        raise _wrong(number, "operation", operation, f"one of {', '.join(LETTERS)}")
    moment = _whole(number, "time_ns", time, 1)
    place, length = (
        _whole(number, field, value, SECTOR)
        for field, value in (("offset_bytes", offset), ("size_bytes", size))
    )
    if (length == 0) != (operation == "flush"):
        expected = "0 for a flush" if operation == "flush" else "512 or more"
        raise _wrong(number, "size_bytes", size, expected)
    sectors = f" {place // SECTOR} + {length // SECTOR}" if length else ""
    stamp = f"{moment // 10**9}.{moment % 10**9:09d}"
    return f"  8,0    0 {number:8d} {stamp:>14}     0  D {letters:>3}{sectors} [boardlab]\n"


def _whole(number: int, field: str, value: Any, step: int) -> int:
    whole = arguments.whole(value)
    if whole is None or not 0 <= whole <= MOST or whole % step:
        of = f", a multiple of {step}" if step > 1 else ""
        raise _wrong(number, field, value, f"a whole number from 0 to 2**63 - 1{of}")
    return whole


def _wrong(number: int, field: str, found: Any, expected: str) -> Exception:
    return input_error(
        f"request {number:,}: {field} is {found!r}"[:200],
        found=found,
        expected=expected,
        help=f"expected {expected}",
    )
