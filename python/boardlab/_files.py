"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

__all__ = ["write_whole", "written_whole"]


@contextmanager
def written_whole(path: str | os.PathLike[str], *, new: bool = False) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once the block has ended without an exception; a `new` one is
    never one that exists."""
    path = os.fspath(path)
    # Two processes, on two machines as well, may write the same file.
    beside = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if new:
            os.link(beside, path)
        else:
            os.replace(beside, path)
    except OSError as error:
        if error.filename != beside:
            raise
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)


def write_whole(path: str | os.PathLike[str], content: bytes, *, new: bool = False) -> None:
    """Writes a file, as :func:`written_whole`."""
    with written_whole(path, new=new) as file:
        file.write(content)
