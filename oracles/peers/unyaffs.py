"""Beside unyaffs: images of YAFFS2, as mkyaffs2image writes them and as dumps of a flash, extracted by both."""
import os
import re
import struct

import images
from extract import Extraction
from measure import run

TOOLS = {"unyaffs": "Debian's unyaffs"}
FILE, SYMLINK, DIRECTORY = 1, 2, 3
ROOT, FIRST, DELETED = 1, 257, 4
SEQUENCE, PAGES = 0x1000, 64
HEADER_BYTES = 512


def version(context):
    return re.search(r"V([\d.]+)", run("unyaffs", "-V", status=None).text)[1]


class Writer:
    """Writes an image page by page, with the tags from `at` on in the spare bytes."""

    def __init__(self, order="<", page=2048, oob=64, at=0, numbered=False):
        self.order, self.page, self.oob, self.at, self.numbered = order, page, oob, at, numbered
        self.pages, self.objects = [], {}

    def pack(self, fields, *values):
        return struct.pack(self.order + fields, *values)

    def chunk(self, data, *tags):
        # mkyaffs2image gives all blocks the first sequence number; a flash gives each the next one.
        sequence = SEQUENCE + (len(self.pages) // PAGES + 1) * self.numbered
        spare = b"\xff" * self.at + self.pack("4I", sequence, *tags)
        self.pages.append(data.ljust(self.page, b"\xff") + spare.ljust(self.oob, b"\xff"))

    def header(self, number, kind, parent, name, size=0, alias=""):
        times, none = (1_000_000_000,) * 3, 0xFFFFFFFF
        mode = {FILE: 0o100644, SYMLINK: 0o120777, DIRECTORY: 0o040755}[kind]
        head = self.pack("IIH256s2x", kind, parent, 0xFFFF, name.encode())
        head += self.pack("IIIIIIIi", mode, 0, 0, *times, size if kind == FILE else none, -1)
        head += alias.encode().ljust(160, b"\0") if alias else b"\xff" * 160
        self.chunk(head.ljust(HEADER_BYTES, b"\xff"), number, 0, 0xFFFF)

    def content(self, number, data):
        for chunk, start in enumerate(range(0, len(data), self.page), 1):
            piece = data[start:start + self.page]
            self.chunk(piece, number, chunk, len(piece))

    def file(self, number, parent, name, data):
        self.header(number, FILE, parent, name, len(data))
        self.content(number, data)

    def tree(self, folder, parent=ROOT):
        """All that is in a folder, in alphabetical order."""
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            number = FIRST + len(self.objects)
            self.objects[entry.path] = number, parent
            if entry.is_symlink():
                self.header(number, SYMLINK, parent, entry.name, alias=os.readlink(entry.path))
            elif entry.is_dir():
                self.header(number, DIRECTORY, parent, entry.name)
                self.tree(entry.path, number)
            else:
                with open(entry.path, "rb") as file:
                    self.file(number, parent, entry.name, file.read())

    def image(self):
        return b"".join(self.pages)


def packed(tree, **layout):
    writer = Writer(**layout)
    writer.header(ROOT, DIRECTORY, ROOT, "")
    writer.tree(tree)
    return writer


def used(tree, changed):
    """A flash after use: a file removed, one renamed, one made shorter; `changed` gets the tree as it then is."""
    writer = packed(tree, at=2, numbered=True)
    images.change(tree, changed)
    number, parent = writer.objects[str(tree / "d19" / "f9")]
    writer.header(number, FILE, DELETED, "deleted")
    number, parent = writer.objects[str(tree / "d19" / "f8")]
    writer.header(number, FILE, parent, "renamed", (tree / "d19" / "f8").stat().st_size)
    number, parent = writer.objects[str(tree / "d19" / "f0")]
    data = (changed / "d19" / "f0").read_bytes()
    writer.content(number, data)
    writer.header(number, FILE, parent, "f0", len(data))
    return writer.image()


def collected(tree):
    """The same flash after its first block was moved to the end, as garbage collection does."""
    image = packed(tree, at=2, numbered=True)
    first, rest = image.pages[:PAGES], image.pages[PAGES:]
    rest += [b"\xff" * (image.page + image.oob)] * (-len(rest) % PAGES)
    sequence = image.pack("I", SEQUENCE + len(rest) // PAGES + 2)
    tags = slice(image.page + image.at, image.page + image.at + 4)
    moved = [page[:tags.start] + sequence + page[tags.stop:] for page in first]
    return b"".join(rest + moved)


def cases(context, tree):
    """Name, image, and the tree that it holds."""
    yield "as mkyaffs2image writes it", packed(tree).image(), tree
    yield "the same, big-endian", packed(tree, order=">").image(), tree
    yield "the same, pages of 4 KiB", packed(tree, page=4096, oob=128).image(), tree
    yield "a dump, its tags behind the bad-block mark", packed(tree, at=2, numbered=True).image(), tree
    yield "a dump, its tags at spare byte 20", packed(tree, at=20, numbered=True).image(), tree
    changed = context.folder / "changed"
    yield "in use: a file removed, one renamed, one made shorter", used(tree, changed), changed
    yield "in use: the first block was moved to the end", collected(tree), tree


def compare(context):
    peer = ["sh", "-c", 'mkdir -p there && exec unyaffs "$0" there']
    extraction = Extraction(context, "unyaffs", peer)
    extraction.compare(cases(context, images.make_tree(context.folder / "tree")))
    large = images.make_tree(context.folder / "large", folders=300)
    extraction.speed(f"{images.count(large):,} files", packed(large).image())
