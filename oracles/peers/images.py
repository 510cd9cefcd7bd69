"""Trees of files, images of JFFS2 made from them, and damage to those."""
import os
import random
import shutil
import struct
import zlib
from pathlib import Path

from measure import run

MAGIC, DIRENT, INODE = 0x1985, 0xE001, 0xE002
# Sizes of the nodes' headers before the name or the data.
DIRENT_HEADER, INODE_HEADER = 40, 68
BLOCK, PAGE, OOB = 128 * 1024, 2048, 64


def make_tree(folder, folders=20, files=10):
    """Writes a tree of zeros, words and random bytes, the same in every run, and a symbolic link."""
    if folder.exists():
        return folder
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(500)]
    for number in range(folders):
        inner = folder / f"d{number:02}"
        inner.mkdir(parents=True)
        for index in range(files):
            size = draw.choice([100, 5_000, 40_000])
            data = [lambda: bytes(size), lambda: " ".join(draw.choices(words, k=size // 6)).encode(),
                    lambda: draw.randbytes(size)][index % 3]()
            (inner / f"f{index}").write_bytes(data)
    (folder / "link").symlink_to("d00/f1")
    return folder


def names(folder):
    """The files and links below a folder, as relative paths."""
    found = (Path(top) / name for top, _, inner in os.walk(folder) for name in inner)
    links = (path for path in Path(folder).rglob("*") if path.is_symlink() and path.is_dir())
    return {path.relative_to(folder) for path in (*found, *links)}


def count(folder):
    return len(names(folder))


def equal_files(wanted, found):
    """How many files and links of `wanted` are in `found` with the same content."""
    def content(path):
        return os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return sum(content(wanted / name) == content(found / name) for name in names(wanted))


def surplus(wanted, found):
    """How many files and links of `found` were never in `wanted`, or no longer are."""
    return len(names(found) - names(wanted))


def jffs2(tree, image, *options):
    run("mkfs.jffs2", "-r", tree, "-o", image, "-e", "128KiB", "-n", "-q", *(options or ["-l"]))
    return image.read_bytes()


def crc(data):
    """JFFS2's CRC-32: begins with 0, and the result is not inverted."""
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def nodes(image):
    """Offset, kind and length of each node of a little-endian image."""
    offset = 0
    while offset + 12 <= len(image):
        magic, kind, length = struct.unpack_from("<HHI", image, offset)
        if magic == MAGIC:
            yield offset, kind, length
            offset += length + 3 & ~3
        else:
            offset += 4


def flip(image, offset):
    """A copy with one bit changed."""
    changed = bytearray(image)
    changed[offset] ^= 0x10
    return bytes(changed)


def large_inode(image):
    """The offset of a node with a kibibyte of data or more."""
    return [offset for offset, kind, length in nodes(image) if kind == INODE and length > 1024][40]


def dirent_of(image, name):
    """Offset, parent, version and inode of the last name of this spelling."""
    for offset, kind, _ in reversed(list(nodes(image))):
        if kind == DIRENT and image[offset + DIRENT_HEADER:].startswith(name) and image[offset + 28] == len(name):
            return offset, *struct.unpack_from("<III", image, offset + 12)
    raise ValueError(f"no name {name} in the image")


def node(kind, length):
    head = struct.pack("<HHI", MAGIC, kind, length)
    return head + struct.pack("<I", crc(head))


def padded(data):
    return data + b"\xff" * (-len(data) % 4)


def dirent(parent, version, inode, name):
    """A name, or with inode 0 its removal."""
    head = node(DIRENT, DIRENT_HEADER + len(name))
    head += struct.pack("<IIIIBBH", parent, version, inode, 0, len(name), 8 if inode else 0, 0)
    return padded(head + struct.pack("<II", crc(head), crc(name)) + name)


def inode(number, version, data):
    """The whole content of a file, which replaces what older versions say."""
    size = len(data)
    head = node(INODE, INODE_HEADER + size)
    head += struct.pack("<IIIHHIIIIIIIBBH", number, version, 0o100644, 0, 0, size, 0, 0, 0, 0, size, size, 0, 0, 0)
    return padded(head + struct.pack("<II", crc(data), crc(head)) + data)


def change(tree, changed):
    """Copies the tree and uses the copy: a file is removed, one renamed, one made shorter."""
    if changed.exists():
        shutil.rmtree(changed)
    shutil.copytree(tree, changed, symlinks=True)
    folder = changed / "d19"
    (folder / "f9").unlink()
    (folder / "f8").rename(folder / "renamed")
    (folder / "f0").write_bytes(b"newer\n")


def used(image, tree, changed):
    """The image after use; `changed` gets the tree as it then is."""
    change(tree, changed)
    _, parent, _, _ = dirent_of(image, b"f9")
    renamed, shorter = dirent_of(image, b"f8")[3], dirent_of(image, b"f0")[3]
    return (image + dirent(parent, 1000, 0, b"f9") + dirent(parent, 1001, renamed, b"renamed")
            + dirent(parent, 1002, 0, b"f8") + inode(shorter, 1000, b"newer\n"))


def with_oob(image):
    """A dump of raw pages: each is followed by its OOB bytes, here erased."""
    image += b"\xff" * (-len(image) % BLOCK)
    pages = range(0, len(image), PAGE)
    return b"".join(image[page:page + PAGE] + b"\xff" * OOB for page in pages)
