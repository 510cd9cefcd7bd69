"""The exceptions of the package.

Their text is the message of the command line, without colours. Its parts are attributes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Error", "ImageError", "InputError", "InternalError", "Place", "RunError"]


class Place(NamedTuple):
    """Where something is wrong: a file or an option such as ``--set``, and a place in its text."""

    file: str
    line: int | None
    column: int | None

    def __str__(self) -> str:
        parts = [self.file, self.line, self.column]
        return ":".join(str(part) for part in parts if part is not None)


class Error(Exception):
    """What every exception of boardlab is.

    Attributes:
        title: what is wrong, in one line.
        place: where, as a :class:`Place`; ``None`` if no text is to blame.
        found: what stands there.
        expected: what is due there.
        help: what to try.
        errors: the single errors, if there are several at once. Then the other attributes are those
            of the first.

    >>> import boardlab
    >>> try:
    ...     boardlab.run("nor-wirte")
    ... except boardlab.Error as error:
    ...     print(error.title, "-", error.help.split("?")[0] + "?")
    unknown scenario `nor-wirte` - did you mean `nor-write`?
    """

    def __init__(
        self,
        message: str = "",
        *,
        title: str | None = None,
        place: tuple[str, int | None, int | None] | None = None,
        found: str | None = None,
        expected: str | None = None,
        help: str | None = None,
        errors: list[Error] | None = None,
    ) -> None:
        super().__init__(message)
        self.title = message if title is None else title
        self.place = None if place is None else Place(*place)
        self.found = found
        self.expected = expected
        self.help = help
        self.errors: list[Error] = list(errors or [])

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), str(self), self.__dict__)


def _again(kind: type[Error], message: str, parts: dict[str, Any]) -> Error:
    error = kind(message)
    error.__dict__.update(parts)
    return error


class InputError(Error, ValueError):
    """A scenario, a key, a value, a name or a file is wrong. Nothing has run."""


class RunError(Error, RuntimeError):
    """The run itself failed: a device, a filesystem, or the file of a journal."""


class ImageError(Error, ValueError):
    """A flash image cannot be read, or not with these options, or cannot be made."""


class InternalError(Error, RuntimeError):
    """A defect of boardlab. The message says where it is and how to report it."""


def input_error(title: str, *, found: object, expected: str, help: str) -> InputError:
    """An error of an argument that the command line does not have in this form."""
    message = f"error: {title}\n |\n = help: {help}"
    try:
        shown = repr(found)
    except ValueError:
        shown = "a number of thousands of digits"
    shown = shown if len(shown) <= 60 else shown[:60] + "..."
    return InputError(message, title=title, found=shown, expected=expected, help=help)
