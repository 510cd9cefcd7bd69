"""Progress of a run, on a terminal or to a function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Iterator, Union

from ._errors import input_error

#: What `progress` may be: True for a bar, or a function of the number of completed steps, the
#: number of all steps, and the name of the last one.
Progress = Union[bool, Callable[[int, int, str], object], None]

WIDTH = 32


@contextmanager
def following(progress: Progress, name: str) -> Iterator[Callable[[int, int, str], object] | None]:
    """The function that a run tells its progress; a bar is removed at the end."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        bar = Bar(name)
        try:
            yield bar
        finally:
            bar.close()
    elif callable(progress):
        yield progress
    else:
        raise input_error(
            f"`progress` is of the type {type(progress).__name__}",
            found=progress,
            expected="True, or a function",
            help="give progress=True, or progress=lambda done, total, label: ...",
        )


class Bar:
    """A bar of plain text on standard error, if that is a terminal."""

    def __init__(self, name: str) -> None:
        self._stream = sys.stderr
        self._name = name
        self._begun = time.monotonic()
        self._width = 0
        self._shows = bool(self._stream is not None and self._stream.isatty())

    def __call__(self, done: int, total: int, label: str) -> None:
        if not self._shows:
            return
        full = WIDTH * done // max(total, 1)
        seconds = time.monotonic() - self._begun
        label = "".join(sign if sign.isprintable() else "?" for sign in label)[:40]
        line = f"{self._name} [{'#' * full:{WIDTH}}] {done}/{total} {seconds:.0f} s {label}"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def close(self) -> None:
        if self._shows and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
