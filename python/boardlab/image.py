"""Flash images: what is in them, what is wrong with them, and new ones.

The functions are the commands of `boardlab image`. Each gives an :class:`ImageResult`. An image
stays as it is. Sizes are bytes. What is known of the flash may be given; what is left out is found
in the image:

Args:
    page: data bytes of a page; 1 for NOR.
    oob: spare bytes after each page; 0 for none.
    block: data bytes of an erase block.
    volume: name or number of a UBI volume.
    commit: number of an older commit of UBIFS.
    as_of: sequence number of a block of YAFFS2: its files when that was the newest block; of JFFS2, seconds since 1970.
    partial: read what there is of a truncated image.

Left out, and on the command line only: `cat`, `convert`, `mount`, `apply`; deleted files; archives;
repair; images of archives and of `.ini` files; the options for byte order, spare bytes and ECC.
"""

from __future__ import annotations

import os
from typing import Any, Union

from . import _arguments as arguments
from . import _boardlab
from ._files import write_whole
from ._result import Result

__all__ = ["ImageResult", "check", "create", "diff", "extract", "info", "ls", "stat"]

AnyPath = Union[str, "os.PathLike[str]"]

#: Names that are listed at most, as on the command line.
NAMES = 200_000


class ImageResult(Result):
    """A result about an image."""

    of_whole: bool = True

    @property
    def whole(self) -> bool:
        """Whether nothing is missing, older, damaged or different. If not, the command line ends
        with status 1."""
        return self.of_whole


def _result(told: tuple[_boardlab.Outcome, bool]) -> ImageResult:
    result = ImageResult(told[0])
    result.of_whole = told[1]
    return result


_NONE: dict[str, Any] = dict.fromkeys(("page", "oob", "block", "volume", "commit", "as_of"))


def _known(given: dict[str, Any]) -> dict[str, Any]:
    known = {**_NONE, "partial": False}
    for key, value in given.items():
        if key not in known:
            raise TypeError(f"{key!r} is none of {', '.join(known)}")
        known[key] = _one(key, value)
    return known


def _one(key: str, value: object) -> object:
    if key == "partial":
        return bool(value)
    if key == "volume":
        return None if value is None else arguments.text(str(value), "the volume")
    return arguments.size(value, f"`{key}`")


def _path(path: object) -> str:
    # Unlike a scenario, an image may have a name that is not UTF-8.
    if isinstance(path, (str, bytes, os.PathLike)):
        return os.fsdecode(path)
    return arguments.path(path, "the path")


def info(path: AnyPath, *, blocks: bool = False, **known: Any) -> ImageResult:
    """What is in a file, and the evidence for it; with `blocks` a row for each erase block.

    Raises:
        ImageError: the file cannot be read.
    """
    return _result(_boardlab.image_info(_path(path), _known(known), bool(blocks)))


def ls(path: AnyPath, within: str = "/", *, names: int = NAMES, **known: Any) -> ImageResult:
    """The names below `within`, a folder, a file or a pattern such as ``/etc/**/*.conf``; at most
    so many `names`."""
    most = arguments.size(names, "the number of names") or 0
    inner = arguments.text(within, "the path in the image")
    return _result(_boardlab.image_ls(_path(path), inner, _known(known), most))


def stat(path: AnyPath, *within: str, **known: Any) -> ImageResult:
    """Everything about files in an image."""
    inner = [arguments.text(one, "the path in the image") for one in within]
    return _result(_boardlab.image_stat(_path(path), inner, _known(known)))


def check(path: AnyPath, **known: Any) -> ImageResult:
    """Every fault of an image; without one it is :attr:`ImageResult.whole`."""
    return _result(_boardlab.image_check(_path(path), _known(known)))


def extract(path: AnyPath, target: AnyPath, within: str = "/", **known: Any) -> ImageResult:
    """Writes what is below `within` into the folder `target`, new or empty, and nowhere else."""
    inner = arguments.text(within, "the path in the image")
    return _result(_boardlab.image_extract(_path(path), _path(target), inner, _known(known)))


def diff(a: AnyPath, b: AnyPath, within: str = "/", **known: Any) -> ImageResult:
    """What differs between two images; if nothing does, the result is whole."""
    inner = arguments.text(within, "the path in the images")
    return _result(_boardlab.image_diff(_path(a), _path(b), inner, _known(known)))


def create(
    folder: AnyPath,
    target: AnyPath,
    *,
    page: int,
    block: int,
    fs: str = "ubifs",
    oob: int | None = None,
    max_blocks: int | None = None,
    volume: str | None = "rootfs",
    seed: int = 1,
) -> ImageResult:
    """Makes an image of the files in `folder`, and writes it to the new file `target`.

    Args:
        page, block, oob: the flash, in bytes; ``page=1`` for NOR.
        fs: ``ubifs``, ``jffs2``, ``yaffs2`` or ``logfs``.
        max_blocks: the logical erase blocks that UBIFS may grow to; for LogFS, blocks of the flash.
        volume: the name of the UBI volume with UBIFS; ``None`` makes the volume alone.

    Raises:
        ImageError: the files or the options do not make an image.
        FileExistsError: there is such a file already.
    """
    to = _path(target)
    if os.path.lexists(to):
        raise FileExistsError(f"`{to}` exists already: no file is overwritten")
    wish = {
        "fs": arguments.text(fs, "the filesystem"),
        "page": arguments.size(page, "`page`") or 0,
        "block": arguments.size(block, "`block`") or 0,
        "oob": arguments.size(oob, "`oob`"),
        "max_blocks": arguments.count(max_blocks, "`max_blocks`"),
        "volume": None if volume is None else arguments.text(volume, "the volume"),
        "seed": arguments.seed(seed),
    }
    outcome, whole, content = _boardlab.image_create(_path(folder), to, wish)
    write_whole(to, content, new=True)
    return _result((outcome, whole))
