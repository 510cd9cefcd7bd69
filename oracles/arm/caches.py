"""Counts lookups and misses of an ARM926EJ-S' caches and TLB from a trace of addresses, as a second opinion on the simulator.

Made from ARM DDI 0198D (chapters 2 to 4), ARM DDI 0100E (B3) and what docs/models/arm926-memory.md assumes where they are silent; it
shares no code with the simulator. Only tags are kept, no data. The sender is crates/realview/tests/miss_counts.rs.

Standard input: one line of JSON, the configuration (`instruction_kib`, `data_kib`, `tlb_index` low or folded, `tlb_replacement`
round_robin or pseudo_random); then events of 12 bytes, lowest byte first: kind, size, flags, an address, a value.

    0 fetch   size 2 or 4, flag 1 privileged, virtual address
    1 read    2 write: one item, virtual address
    3 MCR     the register as CRn << 8 | CRm << 4 | opcode 2, the value; opcode 1 is 0
    4 MRC     the same, c7 only: test and clean
    5 word    a physical address and what memory holds there: translation tables

Standard output: one line of JSON, the counts by the simulator's names.
"""

import json
import struct
import sys

LINE = 32
WAYS = 4
TESTED_SETS = 8

MMU, DATA_ON, INSTRUCTIONS_ON, ROUND_ROBIN = 1, 1 << 2, 1 << 12, 1 << 14


class ShiftRegister:
    """Sixteen bits with feedback from taps 16, 14, 13 and 11."""

    def __init__(self):
        self.bits = 0xACE1

    def step(self):
        bits = self.bits
        new = (bits ^ bits >> 2 ^ bits >> 3 ^ bits >> 5) & 1
        self.bits = bits >> 1 | new << 15
        return self.bits


class Line:
    __slots__ = ("dirty", "tag")

    def __init__(self):
        self.tag = None
        self.dirty = [False, False]

    def halves(self):
        return sum(self.dirty)


class Cache:
    def __init__(self, kib):
        self.sets = [[Line() for _ in range(WAYS)] for _ in range(kib * 1024 // (WAYS * LINE))]
        self.turn = [0] * len(self.sets)
        self.random = ShiftRegister()
        self.where = {}
        self.tested = 0
        self.counts = dict.fromkeys(
            ("reads", "read_misses", "writes", "write_misses", "replaced", "half_lines_written"), 0
        )

    def find(self, mva):
        return self.where.get(mva // LINE)

    def choose(self, index, by_turn):
        """The way of the next fill: an empty one first."""
        for way, line in enumerate(self.sets[index]):
            if line.tag is None:
                return way
        if by_turn:
            return self.turn[index]
        self.random.step()
        return self.random.step() % WAYS

    def fill(self, mva, by_turn):
        tag = mva // LINE
        index = tag % len(self.sets)
        way = self.choose(index, by_turn)
        line = self.sets[index][way]
        if line.tag is not None:
            self.counts["replaced"] += 1
            self.clean(line)
            del self.where[line.tag]
        line.tag = tag
        self.where[tag] = line
        self.turn[index] = (way + 1) % WAYS
        return line

    def clean(self, line):
        self.counts["half_lines_written"] += line.halves()
        line.dirty = [False, False]

    def drop(self, line):
        if line is not None and line.tag is not None:
            del self.where[line.tag]
            line.tag, line.dirty = None, [False, False]

    def drop_all(self):
        for line in list(self.where.values()):
            self.drop(line)

    def by_set_and_way(self, value):
        return self.sets[value // LINE % len(self.sets)][value >> 30]

    def test(self):
        """One test-and-clean: looks at some sets from where it last ended, and cleans one line."""
        for _ in range(min(TESTED_SETS, len(self.sets))):
            for line in self.sets[self.tested]:
                if line.halves():
                    self.clean(line)
                    return
            self.tested = (self.tested + 1) % len(self.sets)

    def any_dirty(self):
        return any(line.halves() for line in self.where.values())


class Page:
    """What the TLB keeps: `shift` is its size as a power of two."""

    def __init__(self, mva, shift, descriptor):
        self.number, self.shift = mva >> shift, shift
        self.cached, self.buffered = bool(descriptor & 8), bool(descriptor & 4)


class Tlb:
    def __init__(self, index, replacement):
        self.folded = index == "folded"
        self.by_turn = replacement == "round_robin"
        self.sets = [[None, None] for _ in range(32)]
        self.turn = [0] * 32
        self.random = ShiftRegister()

    def index(self, number):
        if self.folded:
            number ^= number >> 5 ^ number >> 10 ^ number >> 15 ^ number >> 20
        return number % 32

    def find(self, mva):
        for shift in (10, 12, 14, 16, 20):
            number = mva >> shift
            for page in self.sets[self.index(number)]:
                if page is not None and page.shift == shift and page.number == number:
                    return page
        return None

    def insert(self, page):
        index = self.index(page.number)
        ways = self.sets[index]
        if ways[0] is None:
            way = 0
        elif ways[1] is None:
            way = 1
        elif self.by_turn:
            way = self.turn[index]
        else:
            way = self.random.step() % 2
        ways[way] = page
        self.turn[index] = 1 - way

    def drop_all(self):
        self.sets = [[None, None] for _ in range(32)]

    def drop(self, mva):
        for ways in self.sets:
            for way, page in enumerate(ways):
                if page is not None and page.number == mva >> page.shift:
                    ways[way] = None


class Core:
    def __init__(self, configuration):
        self.instructions = Cache(configuration["instruction_kib"])
        self.data = Cache(configuration["data_kib"])
        self.tlb = Tlb(configuration["tlb_index"], configuration["tlb_replacement"])
        self.control = 0
        self.table = 0
        self.words = {}
        # The process number of data, of fetches, and how many more instructions are fetched with the old one.
        self.pid, self.fetch_pid, self.delay = 0, 0, None
        # The line (virtual) and privilege of the preceding fetch, and where the next instruction follows.
        self.line, self.following = None, None
        self.counts = dict.fromkeys(
            (
                "tlb_lookups",
                "tlb_misses",
                "descriptors",
                "uncached_fetches",
                "uncached_reads",
                "unbuffered_writes",
                "buffered_writes",
            ),
            0,
        )

    def modified(self, va, pid):
        return va | pid << 25 if self.control & MMU and va < 1 << 25 else va

    def by_turn(self):
        return bool(self.control & ROUND_ROBIN)

    def region(self, mva):
        """Whether the page of an address is cached and buffered; looked up in the TLB, else in the tables."""
        self.counts["tlb_lookups"] += 1
        page = self.tlb.find(mva)
        if page is None:
            self.counts["tlb_misses"] += 1
            page = self.walk(mva)
            self.tlb.insert(page)
        return page

    def descriptor(self, address):
        self.counts["descriptors"] += 1
        return self.words[address]

    def walk(self, mva):
        first = self.descriptor(self.table | mva >> 20 << 2)
        if first & 3 == 2:
            return Page(mva, 20, first)
        if first & 3 == 1:
            second = self.descriptor(first & ~0x3FF | (mva >> 12 & 0xFF) << 2)
        elif first & 3 == 3:
            second = self.descriptor(first & ~0xFFF | (mva >> 10 & 0x3FF) << 2)
        else:
            raise ValueError(f"no section or table for {mva:#x}")
        if second & 3 == 3:
            return Page(mva, 10, second)
        shift = {1: 16, 2: 12}[second & 3]
        # A page whose four parts have different permissions is kept by parts.
        parts = {second >> bit & 3 for bit in (4, 6, 8, 10)}
        return Page(mva, shift if len(parts) == 1 else shift - 2, second)

    def fetch(self, va, size, privileged):
        if self.delay is not None:
            # Two instructions after the write of the process number are fetched with the old one, unless there is a jump.
            self.delay -= 1
            if self.delay < 0 or va != self.following:
                self.fetch_pid, self.delay, self.line = self.pid, None, None
        self.following = va + size
        line = (va // LINE, privileged)
        if line == self.line:
            return
        self.line = None
        mva = self.modified(va, self.fetch_pid)
        cached = bool(self.control & INSTRUCTIONS_ON)
        if self.control & MMU:
            cached &= self.region(mva).cached
        if not cached:
            self.counts["uncached_fetches"] += 1
            return
        self.line = line
        cache = self.instructions
        cache.counts["reads"] += 1
        if cache.find(mva) is None:
            cache.counts["read_misses"] += 1
            cache.fill(mva, self.by_turn())

    def access(self, va, write):
        mva = self.modified(va, self.pid)
        cached = buffered = False
        if self.control & MMU:
            page = self.region(mva)
            cached, buffered = page.cached and bool(self.control & DATA_ON), page.buffered
        if not cached:
            if not write:
                self.counts["uncached_reads"] += 1
            else:
                self.counts["buffered_writes" if buffered else "unbuffered_writes"] += 1
            return
        counts = self.data.counts
        line = self.data.find(mva)
        if not write:
            counts["reads"] += 1
            if line is None:
                counts["read_misses"] += 1
                self.data.fill(mva, self.by_turn())
            return
        counts["writes"] += 1
        if line is None:
            counts["write_misses"] += 1
            self.counts["buffered_writes"] += 1
        elif buffered:
            line.dirty[mva // (LINE // 2) % 2] = True
        else:
            self.counts["buffered_writes"] += 1

    def write_control(self, register, value):
        self.line = None
        if register == 0x100:
            self.control = value
        elif register == 0x200:
            self.table = value & ~0x3FFF
        elif register == 0xD00:
            self.pid, self.delay = value >> 25, 2
        elif register >> 8 == 7:
            self.operate(register & 0xFF, value)
        elif register >> 8 == 8:
            if register & 1:
                self.tlb.drop(value)
            else:
                self.tlb.drop_all()

    def operate(self, operation, value):
        data, instructions = self.data, self.instructions
        if operation in (0x50, 0x70):
            instructions.drop_all()
        if operation in (0x60, 0x70):
            data.drop_all()
        if operation == 0x51:
            instructions.drop(instructions.find(value))
        elif operation == 0x52:
            instructions.drop(instructions.by_set_and_way(value))
        elif operation >> 4 in (6, 10, 14) and operation & 15 in (1, 2):
            line = data.find(value) if operation & 1 else data.by_set_and_way(value)
            if line is not None:
                if operation >> 4 != 6:
                    data.clean(line)
                if operation >> 4 != 10:
                    data.drop(line)

    def test_and_clean(self, register):
        self.data.test()
        if register == 0x7E3 and not self.data.any_dirty():
            self.data.drop_all()


def main():
    core = Core(json.loads(sys.stdin.buffer.readline()))
    for kind, size, flags, address, value in struct.iter_unpack("<BBHII", sys.stdin.buffer.read()):
        if kind == 0:
            core.fetch(address, size, flags & 1)
        elif kind <= 2:
            core.access(address, kind == 2)
        elif kind == 3:
            core.write_control(address, value)
        elif kind == 4:
            core.test_and_clean(address)
        else:
            core.words[address] = value
    counts = core.counts
    counts["instruction_cache"] = core.instructions.counts
    counts["data_cache"] = core.data.counts
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
