#!/usr/bin/env python3
"""Read and verify LogFS images: a second opinion on docs/formats/logfs.md.

This program was written from that page alone and shares no code with crates/logfs. It is strict:
what the page does not allow is damage, even where a kernel would go on.

    read.py manifest IMAGE         print the tree in the format of docs/formats/file-tree.md
    read.py check IMAGE            print each contradiction on a line; exit status 1 if there is one
    read.py extract IMAGE FOLDER   write files, directories and symbolic links into a new folder

--page N --oob M: the image has M spare bytes behind each N bytes of data; they are ignored. All
offsets that are printed count bytes of data. Damage that ends the program is one line on standard
error, with exit status 2. `check` reports damaged objects and goes on with the others. `extract`
leaves out devices, pipes and sockets, and sets no owners, permissions and times.
"""
from __future__ import annotations

import argparse
import os
import struct
import sys
import zlib
from collections import Counter
from typing import Generator, Iterator, NamedTuple, Optional

BLOCK = 4096
NO_HOLE = 1 << 63  # the bit of a pointer that says that all blocks behind it exist
ALL_ONES = 0xFFFFFFFF
MAGIC, OLD_MAGIC = 0x7A3A8E5CB9D5BF67, 0xB21F205AC97E8168
SEGMENT_SUPERBLOCK, SEGMENT_JOURNAL, SEGMENT_OBJECTS = 1, 2, 3
COMMIT, DYNAMIC, ANCHOR, ERASE_COUNTS, ALIASES, AREA = 2, 3, 4, 5, 13, 14
INODE_FILE, ROOT, SEGMENT_FILE, RESERVED = 1, 2, 3, 16
OBJECT_BLOCK, OBJECT_INODE, OBJECT_NAME = 4, 5, 6
SIZES = {OBJECT_BLOCK: BLOCK, OBJECT_INODE: 200, OBJECT_NAME: 266}
INODE_WORDS = {0, 6, 7, *range(8, 25)}  # of an inode, those that aliases may change
CHARACTER, DIRECTORY, DEVICE, FILE, LINK = 2, 4, 6, 8, 10
LETTERS = {1: "p", CHARACTER: "c", DIRECTORY: "d", DEVICE: "b", FILE: "f", LINK: "l", 12: "s"}
SIZE_LIMIT = 1 << 43  # of a directory; a file is smaller
PATH_LIMIT = 4095  # bytes; longer ones cannot be opened, and would need memory without bound
COMPLAINTS = 1000  # after so many, `check` ends


class Damage(Exception):
    """The image is not as the format demands."""

    def __init__(self, offset: int, found: object, expected: object) -> None:
        super().__init__(f"offset {offset:#x}: found {found}, expected {expected}")


class Header(NamedTuple):
    """Of a segment; `opened` is its global erase count."""
    level: int
    number: int
    erased: int
    opened: int


class Inode(NamedTuple):
    number: int
    offset: int
    mode: int
    height: int
    uid: int
    gid: int
    mtime: int
    links: int
    used: int
    size: int
    pointers: tuple[int, ...]

    @property
    def type(self) -> int:
        return self.mode >> 12

    @property
    def kind(self) -> int:
        """The kind of its objects on level 0."""
        if self.number == INODE_FILE:
            return OBJECT_INODE
        return OBJECT_NAME if self.type == DIRECTORY else OBJECT_BLOCK


class Object(NamedTuple):
    """`size` is what it adds to used and valid bytes."""
    offset: int
    size: int
    data: bytes


def crc(data: bytes | bytearray) -> int:
    """The CRC-32 of LogFS: without the final inversion."""
    return zlib.crc32(data) ^ ALL_ONES


def times(a: int, b: int) -> int:
    """The product of two polynomials modulo that of the CRC-32; bit 31 is the coefficient of 1."""
    product = 0
    for bit in range(31, -1, -1):
        product ^= b if a >> bit & 1 else 0
        b = b >> 1 ^ (0xEDB88320 if b & 1 else 0)
    return product


def crc_of_zeros(value: int, count: int) -> int:
    """Continues a usual CRC-32 with zero bytes, however many there are."""
    factor, power = 1 << 31, 1 << 23  # 1, and the eighth power of x: one zero byte
    while count:
        factor = times(factor, power) if count & 1 else factor
        power = times(power, power)
        count >>= 1
    return times(factor, value ^ ALL_ONES) ^ ALL_ONES


def unpack(data: bytes, compression: int, size: int) -> Optional[bytes]:
    """The data of exactly `size` bytes, or none."""
    if compression == 0:
        return data if len(data) == size else None
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(data, size + 1)
    except zlib.error:
        return None
    good = compression == 1 and stream.eof and not stream.unused_data and len(plain) == size
    return plain if good else None


def positions(name: bytes) -> set[int]:
    """The 20 blocks that an entry may have, for both ways to compute the hash."""
    blocks: set[int] = set()
    for sign in (0, 256):
        h = 0
        for byte in name:
            h = (h * 293 + byte - (sign if byte > 127 else 0)) % (1 << 32)
        last = 134217728 + 16 * (h % 125829120)
        blocks.update((h % 16, 16 + h % 496, 512 + h % 261632, 262144 + h % 133955584))
        blocks.update(range(last, last + 16))
    return blocks


def segment_header(image: bytearray, offset: int, kind: int) -> Optional[Header]:
    """The header of a segment of this kind, or none."""
    data = image[offset:offset + 24]
    if len(data) < 24 or int.from_bytes(data[:4], "big") != crc(data[4:]) or data[6] != kind:
        return None
    return Header(*struct.unpack(">7xBIIQ", data))


def is_superblock(image: bytearray, offset: int) -> bool:
    magic, check = struct.unpack_from(">QI", image, offset + 24)
    return (magic in (MAGIC, OLD_MAGIC) and check == crc(image[offset + 36:offset + 256])
            and segment_header(image, offset, SEGMENT_SUPERBLOCK) is not None)


class LogFS:
    """An image as its last commit left it. With `lenient`, damage is printed where possible."""

    def __init__(self, image: bytearray, lenient: bool = False) -> None:
        self.image, self.lenient = image, lenient
        self.complaints: set[str] = set()
        self.headers: dict[int, Header] = {}
        self.areas: dict[int, tuple[int, int]] = {}  # segment: used bytes, level
        self.aliases: dict[tuple[int, int, int], dict[int, int]] = {}
        self.read_superblock()
        self.commit, offsets = self.last_commit()
        self.read_commit(struct.unpack(f">{len(offsets) // 8}Q", offsets))
        self.inodes = {number: found for level, number, found in self.walk(self.inode_file)
                       if level == 0}
        if ROOT not in self.inodes or self.inode(ROOT).type != DIRECTORY:
            raise Damage(self.inode_file.offset, "no directory as inode 2", "the root")

    def report(self, damage: Damage) -> None:
        """Ends the reading, or complains in lenient mode, once about each damage."""
        if not self.lenient:
            raise damage
        if str(damage) not in self.complaints:
            self.complaints.add(str(damage))
            print(damage)
        if len(self.complaints) == COMPLAINTS:
            sys.exit(1)

    # Superblock and journal

    def read_superblock(self) -> None:
        """Takes the first copy. Before it and behind the last may be bad blocks of any size."""
        image = self.image
        places = range(0, len(image) - 255, BLOCK)
        at = next((place for place in places if is_superblock(image, place)), -1)
        if at < 0:
            raise Damage(0, "no superblock", "one in the first or the last good block")
        self.superblocks = at, next(p for p in reversed(places) if is_superblock(image, p))
        self.old = image[at + 24:at + 32] == OLD_MAGIC.to_bytes(8, "big")
        shift, block_shift, unit_shift = image[at + 39:at + 42]
        size, segment, incompatible = struct.unpack_from(">QI4xQ", image, at + 48)
        if not 13 <= shift <= 30 or segment not in (0, 1 << shift) or block_shift != 12 \
                or unit_shift > min(15, shift) or incompatible:
            raise Damage(at + 36, image[at + 36:at + 72].hex(), "known sizes and features")
        self.segment, self.unit, self.segments = 1 << shift, 1 << unit_shift, size >> shift
        if size % self.segment or not 0 < size <= len(image):
            raise Damage(at + 48, f"size {size}", f"segments within the {len(image)} of the image")
        self.journal = [n for n in struct.unpack_from(">16I", image, at + 112) if n]
        unique = len(set(self.journal)) == len(self.journal)
        if not unique or max(self.journal, default=0) >= self.segments:
            raise Damage(at + 112, f"journal {self.journal}", f"segments below {self.segments}")

    def last_commit(self) -> tuple[int, bytes]:
        """Offset and content of the last valid commit in the newest segment that has one."""
        found = [(segment_header(self.image, number * self.segment, SEGMENT_JOURNAL), number)
                 for number in self.journal]
        valid = [(header.opened, number) for header, number in found if header]
        for _, number in sorted(valid, key=lambda pair: -pair[0]):  # stable: the list's order
            commit = self.last_commit_of(number)
            if commit:
                return commit
        raise Damage(self.superblocks[0] + 112, f"no commit in {self.journal}", "one")

    def last_commit_of(self, number: int) -> Optional[tuple[int, bytes]]:
        commit = None
        at, end = number * self.segment + 32, (number + 1) * self.segment
        while at < end:
            kind, data, behind = self.entry(at)
            if kind == COMMIT and len(data) <= 2048 and len(data) % 8 == 0:
                commit, at = (at, data), behind
            else:
                at += 16
        return commit

    def entry(self, at: int) -> tuple[int, bytes, int]:
        """Kind, data and end of the entry of the journal at an offset; kind 0 if not valid."""
        header = self.image[at:at + 16]
        if len(header) < 16 or header[8] or at % 16:
            return 0, b"", at
        check, length, size, kind = struct.unpack_from(">IHHH", header)
        end, limit = at + 16 + length, (at // self.segment + 1) * self.segment
        known = kind in (COMMIT, DYNAMIC, ANCHOR, ERASE_COUNTS, ALIASES, AREA)
        if not known or size > max(BLOCK, self.unit) + 26 or end > min(limit, len(self.image)) \
                or check != crc(self.image[at + 4:end]):
            return 0, b"", at
        data = unpack(bytes(self.image[at + 16:end]), header[12 if self.old else 10], size)
        return (0, b"", at) if data is None else (kind, data, (end + 15) // 16 * 16)

    def read_commit(self, offsets: tuple[int, ...]) -> None:
        entries = [(at, *self.entry(at)[:2]) for at in offsets]
        for at, kind, data in entries:
            if kind in (0, COMMIT) or at // self.segment != self.commit // self.segment:
                raise Damage(at, f"entry of kind {kind}", "one of the last commit, in its segment")
            if kind == ALIASES:
                self.add_aliases(at, data)
            elif kind == AREA:
                self.add_area(at, data)
        at, data = self.only(ANCHOR, 168, entries)
        size, _, used, height = struct.unpack_from(">QQQB", data)
        pointers = struct.unpack_from(">17Q", data, 32)
        self.inode_file = Inode(INODE_FILE, at, 0, height, 0, 0, 0, 1, used, size, pointers)
        self.dynamic, data = self.only(DYNAMIC, 64, entries)
        words = struct.unpack_from(">7Q", data)
        self.erases, _, directory, position, self.victim, _, self.used = words
        self.leftover = (directory, position) if position else None

    def only(self, kind: int, size: int,
             entries: list[tuple[int, int, bytes]]) -> tuple[int, bytes]:
        """Offset and data of the only entry of a kind."""
        found = [(at, data) for at, this, data in entries if this == kind]
        if len(found) != 1 or len(found[0][1]) != size:
            raise Damage(self.commit, f"{len(found)} entries of kind {kind}", f"1 of {size} bytes")
        return found[0]

    def add_aliases(self, at: int, data: bytes) -> None:
        if len(data) % 32:
            raise Damage(at, f"{len(data)} bytes of aliases", "a multiple of 32")
        for inode, block, value, level, word in struct.iter_unpack(">QQQB5xH", data):
            exists = word < 512 and (0 < level <= 5 or level == 0 and inode == SEGMENT_FILE)
            exists |= level == 0 and inode == INODE_FILE and word in INODE_WORDS
            words = self.aliases.setdefault((inode, level, block >> 9 * level), {})
            if not exists or word in words:
                place = f"{inode}, level {level}, block {block}, word {word}"
                raise Damage(at, f"alias of inode {place}", "a word that exists, and once")
            words[word] = value

    def add_area(self, at: int, data: bytes) -> None:
        if len(data) != 10 + self.unit:
            raise Damage(at, f"{len(data)} bytes of an area", 10 + self.unit)
        number, used, level, age = fields = struct.unpack_from(">IIBB", data)
        if number == 0:
            return
        taken = number in self.journal or number in self.areas \
            or level in (other for _, other in self.areas.values())
        if taken or not 24 <= used < self.segment or number >= self.segments or level > 11 or age:
            raise Damage(at, f"segment, used, level, age {fields}", "an area within a segment")
        self.areas[number] = used, level
        valid, end = used % self.unit, number * self.segment + used
        if data[10 + valid:].strip(b"\xff"):
            self.report(Damage(at, "other bytes behind the used ones of the buffer", "0xFF"))
        self.image[end - valid:end] = data[10:10 + valid]

    # Objects and trees

    def header(self, number: int) -> Header:
        """The header of a segment of objects."""
        if number not in self.headers:
            at = number * self.segment
            header = segment_header(self.image, at, SEGMENT_OBJECTS)
            if header is None or header.number != number:
                raise Damage(at, self.image[at:at + 24].hex(), f"the header of segment {number}")
            self.headers[number] = header
        return self.headers[number]

    def object(self, node: Inode, pointer: int, level: int, index: int) -> Object:
        """Reads and checks the object that a pointer leads to, and applies the aliases."""
        at = pointer & ~NO_HOLE
        number, inside = divmod(at, self.segment)
        room = (self.areas[number][0] if number in self.areas else self.segment) - inside - 28
        if number >= self.segments or inside < 24 or room < 0:
            raise Damage(at, "no room for an object", f"one of inode {node.number}, level {level}")
        check, length, kind, compression, inode, block, data_check = struct.unpack_from(
            ">IHBBQQI", self.image, at)
        if check != crc(self.image[at + 4:at + 24]):
            raise Damage(at, f"CRC {check:#x} of a header", "that of its bytes")
        of_segment = level + (6 if node.number == INODE_FILE else 0)
        expected = OBJECT_BLOCK if level else node.kind, node.number, index, of_segment
        found = kind, inode, block >> 9 * level, self.header(number).level
        if found != expected:
            raise Damage(at, f"kind, inode, index, level of segment {found}", expected)
        stored = bytes(self.image[at + 28:at + 28 + length])
        if length > room or data_check != crc(stored):
            raise Damage(at, f"CRC {data_check:#x} of {length} bytes", f"its CRC, at most {room}")
        whole = kind == OBJECT_INODE and length == BLOCK  # early tools filled the block
        data = unpack(stored, compression, BLOCK if whole else SIZES[kind])
        if data is None or compression and (of_segment or length >= SIZES[kind]):
            raise Damage(at, f"{length} bytes, compression {compression}", f"{SIZES[kind]} bytes")
        words = self.aliases.get((inode, level, index), {})
        return Object(at, 28 + length, self.changed(at, data[:SIZES[kind]], words))

    @staticmethod
    def changed(at: int, data: bytes, words: dict[int, int]) -> bytes:
        """The data with the aliases for them."""
        if max(words, default=0) * 8 + 8 > len(data):
            raise Damage(at, f"alias of word {max(words)}", f"words within {len(data)} bytes")
        result = bytearray(data)
        for word, value in words.items():
            struct.pack_into(">Q", result, word * 8, value)
        return bytes(result)

    def walk(self, node: Inode) -> Iterator[tuple[int, int, Object]]:
        """Level, index and object of all blocks of a file, those of data in ascending order."""
        if node.type not in (DIRECTORY, FILE, LINK) and node.number != INODE_FILE:
            return
        root = node.pointers[16]
        for index in range(16):
            yield from self.below(node, node.pointers[index], 0, index)
        if 0 < node.height <= 5:
            yield from self.below(node, root, node.height, 0)
        elif node.height or root:
            self.report(Damage(node.offset, f"height {node.height}, indirect pointer {root:#x}",
                               "a height of at most 5; no pointer with 0"))

    def below(self, node: Inode, pointer: int, level: int,
              index: int) -> Generator[tuple[int, int, Object], None, bool]:
        """All objects at and below a pointer; returns whether there is no hole behind it."""
        if pointer == 0:
            return False
        try:
            found = self.object(node, pointer, level, index)
        except Damage as damage:
            self.report(damage)
            return True
        yield level, index, found
        if level == 0:
            return True
        pointers = struct.unpack(">512Q", found.data)
        unused = 16 if level == 1 and index == 0 else 0
        if any(pointers[:unused]):
            self.report(Damage(found.offset, "pointers for the blocks 0 to 15", "0"))
        full = True
        for slot in range(unused, 512):
            full &= yield from self.below(node, pointers[slot], level - 1, index * 512 + slot)
        if pointer & NO_HOLE and not full:
            self.report(Damage(found.offset, "a hole below, and bit 63 of its pointer", "not both"))
        return full

    # Files and directories

    def inode(self, number: int) -> Inode:
        offset, _, data = self.inodes[number]
        (mode, height, _, _, uid, gid, _, mtime, _, links, _, used, size,
         *pointers) = struct.unpack(">HBBIIIqqqIIQQ17Q", data)
        node = Inode(number, offset, mode, height, uid, gid, mtime, links, used, size,
                     tuple(pointers))
        limit = SIZE_LIMIT - (node.type != DIRECTORY)
        if node.type not in LETTERS or size > limit:
            self.report(Damage(offset, f"mode {mode:o}, size {size}", f"a type, at most {limit}"))
        reserved = number < RESERVED and number not in (ROOT, SEGMENT_FILE)
        if reserved or number * BLOCK >= self.inode_file.size:
            self.report(Damage(offset, f"inode {number}", "2, 3, 16 or more, within its file"))
        return node

    def content(self, node: Inode) -> Iterator[tuple[int, bytes]]:
        """Offset and bytes of the blocks of a file below its size, in ascending order."""
        for level, index, found in self.walk(node):
            if level == 0 and index * BLOCK < node.size:
                yield index * BLOCK, found.data[:node.size - index * BLOCK]

    def content_crc(self, node: Inode) -> int:
        value = at = 0
        for offset, data in self.content(node):
            value = zlib.crc32(data, crc_of_zeros(value, offset - at))
            at = offset + len(data)
        return crc_of_zeros(value, node.size - at)

    def target(self, node: Inode) -> bytes:
        """The target of a symbolic link."""
        offset, data = next(self.content(node), (-1, b""))
        target = data.split(b"\0")[0]
        if offset or not 1 <= len(target) <= 4095:
            self.report(Damage(node.offset, f"{len(target)} bytes of a target", "1 to 4095"))
        return target

    def directory(self, node: Inode) -> Iterator[tuple[int, bytes, int]]:
        """Offset, name and inode of all entries, after the checks that need this directory only."""
        taken: set[bytes] = set()
        for level, index, (offset, _, data) in self.walk(node):
            if level or self.leftover == (node.number, index):
                continue
            number, length, kind = struct.unpack_from(">QHB", data)
            name, rest = data[11:11 + length], data[11 + length:]
            if not 1 <= length <= 255 or rest.strip(b"\0") or name in taken \
                    or {0, 0x2F} & set(name) or name in (b".", b".."):
                self.report(Damage(offset, f"name {name!r}", "a valid one, once, then zeros"))
                continue
            taken.add(name)
            if index not in positions(name) or index * BLOCK >= node.size:
                self.report(Damage(offset, f"{name!r} in block {index}", "one from its hash"))
            if number < RESERVED or number not in self.inodes:
                self.report(Damage(offset, f"{name!r} of inode {number}", "one that exists"))
            elif kind != self.inode(number).type:
                self.report(Damage(offset, f"{name!r} of type {kind}", self.inode(number).type))
            else:
                yield offset, name, number

    def names(self) -> Iterator[tuple[bytes, int]]:
        """Path and inode of everything, in any order."""
        todo = [(b"", ROOT)]
        seen = {ROOT}  # directories
        yield todo[0]
        while todo:
            parent, directory = todo.pop()
            for offset, name, number in self.directory(self.inode(directory)):
                path = parent + b"/" + name if parent else name
                if len(path) > PATH_LIMIT or number in seen:
                    self.report(Damage(offset, f"path of {len(path)} bytes to inode {number}",
                                       f"at most {PATH_LIMIT}; one path to a directory"))
                    continue
                if self.inode(number).type == DIRECTORY:
                    seen.add(number)
                    todo.append((path, number))
                yield path, number


class Check:
    """Compares what an image says about itself with what is there."""

    def __init__(self, fs: LogFS) -> None:
        self.fs = fs
        self.valid: Counter[int] = Counter()  # by segment
        self.extents: list[tuple[int, int]] = []
        self.states: dict[int, bytes] = {}  # the blocks of the segment file

    def same(self, offset: int, what: str, found: object, expected: object) -> None:
        if found != expected:
            self.fs.report(Damage(offset, f"{what} {found}", expected))

    def run(self) -> None:
        first, last = (self.fs.image[at + 24:at + 256].hex() for at in self.fs.superblocks)
        self.same(self.fs.superblocks[0], "superblocks:", len(set(self.fs.superblocks)), 2)
        self.same(self.fs.superblocks[1], "superblock", last, first)
        self.inode(self.fs.inode_file)
        for number in self.fs.inodes:
            self.inode(self.fs.inode(number))
        self.same(self.fs.dynamic, "used bytes of all", self.fs.used, sum(self.valid.values()))
        self.overlaps()
        reserved = {at // self.fs.segment for at in self.fs.superblocks} | set(self.fs.journal)
        for number in range(self.fs.segments):
            self.segment(number, number in reserved)
        self.links()

    def inode(self, node: Inode) -> None:
        used = 0
        for level, index, found in self.fs.walk(node):
            used += found.size
            self.valid[found.offset // self.fs.segment] += found.size
            self.extents.append((found.offset, found.offset + found.size))
            if node.number == SEGMENT_FILE and node.type == FILE and level == 0:
                self.states[index] = found.data
        self.same(node.offset, f"used bytes of inode {node.number}:", node.used, used)
        if node.type == LINK:
            self.fs.target(node)

    def overlaps(self) -> None:
        self.extents.sort()
        for (_, end), (start, _) in zip(self.extents, self.extents[1:]):
            if start < end:
                self.fs.report(Damage(start, "an object in another", f"one from {end:#x} on"))

    def segment(self, number: int, reserved: bool) -> None:
        """Compares the segment file's entry of a segment with its header and its objects."""
        block = self.states.get(number // 512, bytes(BLOCK))
        state, valid = struct.unpack_from(">II", block, number % 512 * 8)
        at, present = number * self.fs.segment, self.valid[number]
        if reserved or state == ALL_ONES:
            what = "entry and valid bytes of a reserved or bad segment:"
            self.same(at, what, (valid, present), (ALL_ONES, 0))
            return
        self.same(at, f"valid bytes of segment {number}:", valid, present)
        if present or number in self.fs.areas:
            self.opened(number, (state >> 4, state & 15))

    def opened(self, number: int, state: tuple[int, int]) -> None:
        """Compares the header of a segment with its erase count and level."""
        at = number * self.fs.segment
        try:
            header = self.fs.header(number)
        except Damage as damage:
            return self.fs.report(damage)
        self.same(at, "erase count and level", state, (header.erased, header.level))
        if number in self.fs.areas:
            self.same(at, "level of an area:", self.fs.areas[number][1], header.level)
        self.same(at, "a later global erase count:", header.opened > self.fs.erases, False)

    def links(self) -> None:
        """Each name is a link; a victim has one more, and the segment file has no name."""
        links = Counter(number for _, number in self.fs.names())
        links.update((SEGMENT_FILE, self.fs.victim))
        for number in self.fs.inodes:
            node = self.fs.inode(number)
            self.same(node.offset, f"links of inode {number}:", node.links, links[number])
            self.same(node.offset, f"inode {number} without a name:", not links[number], False)


def escape(field: bytes) -> str:
    if field == b"-":
        return r"\x2d"
    return "".join(chr(b) if 0x21 <= b <= 0x7E and b != 0x5C else f"\\x{b:02x}" for b in field)


def manifest(fs: LogFS) -> list[str]:
    crcs: dict[int, str] = {}
    lines = []
    for path, number in sorted(fs.names()):
        node = fs.inode(number)
        size = device = target = check = "-"
        if node.type == FILE:
            if number not in crcs:
                crcs[number] = f"{fs.content_crc(node):08x}"
            size, check = str(node.size), crcs[number]
        elif node.type == LINK:
            size, target = str(len(fs.target(node))), escape(fs.target(node))
        elif node.type in (CHARACTER, DEVICE):
            device = f"{node.pointers[0] >> 20 & 0xFFF}:{node.pointers[0] & 0xFFFFF}"
        lines.append(f"{escape(path) or '.'} {LETTERS[node.type]} {node.mode & 0o7777:04o} "
                     f"{node.uid} {node.gid} {node.links} {size} {node.mtime // 10**9} {device} "
                     f"{target} - {check}")
    return lines


def extract(fs: LogFS, folder: bytes) -> None:
    """All stays in the folder: names were checked, and nothing that exists is opened."""
    files: dict[int, bytes] = {}
    for name, number in sorted(fs.names()):
        node, path = fs.inode(number), os.path.join(folder, name) if name else folder
        if node.type == DIRECTORY:
            os.mkdir(path)
        elif node.type == LINK:
            os.symlink(fs.target(node), path)
        elif number in files:
            os.link(files[number], path)
        elif node.type == FILE:
            files[number] = path
            with open(path, "xb") as file:
                for offset, data in fs.content(node):
                    file.seek(offset)
                    file.write(data)
                file.truncate(node.size)


def read_image(path: str, page: int, oob: int) -> bytearray:
    """The data of an image, without the spare bytes of its pages."""
    with open(path, "rb") as file:
        raw = file.read()
    if not oob:
        return bytearray(raw)
    if len(raw) % (page + oob):
        raise Damage(len(raw), "the end of the image", f"a multiple of {page + oob}")
    return bytearray().join(raw[at:at + page] for at in range(0, len(raw), page + oob))


def main() -> int:
    parser = argparse.ArgumentParser(description="Read and verify LogFS images.")
    parser.add_argument("command", choices=("manifest", "check", "extract"))
    parser.add_argument("image")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--page", type=int, default=0, help="bytes of data in a page")
    parser.add_argument("--oob", type=int, default=0, help="spare bytes behind each page")
    options = parser.parse_args()
    if (options.command == "extract") != bool(options.folder):
        parser.error("`extract` needs a folder, the others none")
    if options.oob < 0 or options.page < (options.oob > 0):
        parser.error("--oob needs --page; neither is negative")
    try:
        image = read_image(options.image, options.page, options.oob)
        fs = LogFS(image, lenient=options.command == "check")
        if options.command == "manifest":
            print(*manifest(fs), sep="\n")
        elif options.command == "extract":
            extract(fs, os.fsencode(options.folder))
        else:
            Check(fs).run()
    except (Damage, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if fs.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
