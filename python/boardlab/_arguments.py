"""Arguments of Python as those of the command line."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from ._errors import input_error

#: What `set` may be: keys with their values, or arguments as the command line takes them.
Settings = Union[Mapping[str, Any], Iterable[str], None]

SEED_MAX = 2**64 - 1
THREADS_MAX = 1024


def text(value: object, what: str) -> str:
    """`value`, a text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise input_error(
            f"{what} is {_noun(value)}", found=value, expected="a text", help="give a text"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise input_error(
            f"{what} is not Unicode text: character {error.start} is half of a surrogate pair",
            found=value,
            expected="Unicode text",
            help="name a file whose path is UTF-8",
        ) from None
    return value


def path(value: object, what: str) -> str:
    """`value`, the path of a file, as text."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bytes):
        value = os.fsdecode(value)
    return text(value, what)


def seed(value: object) -> int:
    """`value`, a seed."""
    return _whole(value, "the seed", 0, SEED_MAX)


def threads(value: object) -> int | None:
    """`value`, a number of threads; None stands for all cores."""
    return None if value is None else _whole(value, "the number of threads", 1, THREADS_MAX)


def size(value: object, what: str) -> int | None:
    """`value`, a size in bytes."""
    return None if value is None else _whole(value, what, 0, SEED_MAX)


def count(value: object, what: str) -> int | None:
    """`value`, a count of blocks."""
    return None if value is None else _whole(value, what, 0, 2**32 - 1)


def whole(value: object) -> int | None:
    """`value`, if it is a whole number; True and False are none."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _whole(value: object, what: str, low: int, high: int) -> int:
    expected = f"a whole number from {low} to {high}"
    number = whole(value)
    if number is None or not low <= number <= high:
        found = _shown(value)
        raise input_error(
            f"{what} is {found}", found=value, expected=expected, help=f"expected {expected}"
        )
    return number


def settings(value: Settings) -> list[str]:
    """The arguments `KEY=VALUE` that `value` stands for."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return list(_of_mapping(value, ""))
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise input_error(
            f"`set` is {_noun(value)}",
            found=value,
            expected="a dict or a list",
            help='give set={"KEY": VALUE} or set=["KEY=VALUE"]',
        )
    return [text(one, "an argument of `set`") for one in value]


def _of_mapping(values: Mapping[str, Any], above: str) -> Iterable[str]:
    for key, value in values.items():
        key = above + text(key, "a key of `set`")
        if isinstance(value, Mapping):
            yield from _of_mapping(value, key + ".")
        else:
            yield f"{key}={written(value, key)}"


def written(value: object, key: str) -> str:
    """`value` as it is written behind `KEY=`."""
    if isinstance(value, str):
        return text(value, f"`{key}`")
    name = getattr(value, "_as_value", None)
    return text(name, f"`{key}`") if name is not None else _toml(value, key)


def _toml(value: object, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(text(value, f"`{key}`"), ensure_ascii=False)
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(one, key) for one in value) + "]"
    if isinstance(value, os.PathLike):
        return path(value, f"`{key}`")
    try:
        return str(operator.index(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise input_error(
            f"`{key}` is {_noun(value)}",
            found=value,
            expected="a text, a number, true or false, or a list of them",
            help='quantities are texts with their unit: "256 us"',
        ) from None


def axes(grid: object) -> list[str]:
    """The arguments `KEY=VALUE,VALUE` of a grid."""
    if isinstance(grid, Mapping):
        return [f"{text(key, 'a key of the grid')}={_axis(key, of)}" for key, of in grid.items()]
    if isinstance(grid, (str, bytes)) or not isinstance(grid, Iterable):
        raise input_error(
            f"the grid is {_noun(grid)}",
            found=grid,
            expected="a dict or a list",
            help='give {"KEY": [VALUE, VALUE]} or ["KEY=VALUE,VALUE"]',
        )
    return [text(one, "an argument of the grid") for one in grid]


def _axis(key: str, values: object) -> str:
    if isinstance(values, str):
        return text(values, f"`{key}`")
    if isinstance(values, range) and values.step == 1 and len(values) > 1:
        return f"{values[0]}..{values[-1]}"
    if not isinstance(values, Iterable):
        return written(values, key)
    return ",".join(_in_grid(written(one, key)) for one in values)


def _in_grid(value: str) -> str:
    """A value that commas, quotes and ranges of a grid leave whole."""
    is_plain = not any(sign in value for sign in ",\"'[]{}()") and ".." not in value
    return value if is_plain or value[:1] in "[{" else json.dumps(value, ensure_ascii=False)


def _noun(value: object) -> str:
    return "None" if value is None else f"of the type {type(value).__name__}"


def _shown(value: object) -> str:
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        try:
            shown = repr(value)
        except ValueError:
            return "a number of thousands of digits"
        return shown if len(shown) <= 40 else shown[:40] + "..."
    return repr(value) if isinstance(value, (bool, float)) else _noun(value)


__all__ = ["Settings", "axes", "count", "path", "seed", "settings", "size", "text", "threads"]
