"""Executes short blocks of ARM code in Unicorn, for the lock-step test of the simulated core.

Reads batches of cases on standard input and writes their results to standard output; the sender is
`crates/arm926/tests/lockstep/oracle.rs`. All numbers are 32-bit words, lowest byte first.

    batch   count, then as many cases
    case    flags, base, entry, end, length of code, length of data, state, [banks], code, data
    state   CPSR, r0 to r14, SPSR
    banks   r13, r14, SPSR of FIQ, IRQ, supervisor, abort, undefined, system; r8 to r12 of FIQ; r8 to r12 of the others
    result  status, pc, state, [banks], data
    verdict status, pc

Code lies at `base`, data behind it. Bit 0 of `entry`: Thumb. Flag 1: banks are given and returned. Flag 2: one
instruction only, and only the verdict is returned. Status: 0 the end was reached, 1 undefined, 2 SWI, 3 BKPT,
256 + n: error n of Unicorn. `pc` is the address of the instruction that made the exception, or `end`.
"""

import ctypes
import struct
import sys

from unicorn import UC_ARCH_ARM, UC_HOOK_INSN_INVALID, UC_HOOK_INTR, Uc, arm_const
from unicorn.unicorn_const import UC_ERR_INSN_INVALID, UC_ERR_OK, UC_MODE_ARM, UC_MODE_ARM926
from unicorn.unicorn_py3.unicorn import uclib

MEMORY = 1 << 21
# Blocks of code are rewritten behind Unicorn's back; what it translated is dropped after so many.
FLUSH_AFTER = 256

BANKS, VERDICT = 1, 2
REACHED, UNDEFINED, SOFTWARE_INTERRUPT, BREAKPOINT = range(4)
INTERRUPTS = {1: UNDEFINED, 2: SOFTWARE_INTERRUPT, 7: BREAKPOINT}
MODES = (0x11, 0x12, 0x13, 0x17, 0x1B, 0x1F)
NO_SPSR = (0x10, 0x1F)

LOW = [getattr(arm_const, f"UC_ARM_REG_R{n}") for n in range(13)]
R13, R14 = arm_const.UC_ARM_REG_SP, arm_const.UC_ARM_REG_LR
PC, CPSR, SPSR = arm_const.UC_ARM_REG_PC, arm_const.UC_ARM_REG_CPSR, arm_const.UC_ARM_REG_SPSR


class Registers:
    """A fixed list of registers that is moved in one call."""

    def __init__(self, handle, numbers):
        count = len(numbers)
        self.handle, self.count = handle, count
        self.numbers = (ctypes.c_int * count)(*numbers)
        self.words = (ctypes.c_uint32 * count)()
        step = ctypes.sizeof(ctypes.c_uint32)
        start = ctypes.addressof(self.words)
        self.pointers = (ctypes.c_void_p * count)(*(start + step * n for n in range(count)))

    def write(self, data):
        ctypes.memmove(self.words, data, 4 * self.count)
        uclib.uc_reg_write_batch(self.handle, self.numbers, self.pointers, self.count)

    def read(self):
        uclib.uc_reg_read_batch(self.handle, self.numbers, self.pointers, self.count)
        return bytes(self.words)


class Server:
    def __init__(self):
        self.uc = Uc(UC_ARCH_ARM, UC_MODE_ARM | UC_MODE_ARM926)
        self.uc.mem_map(0, MEMORY)
        self.uc.hook_add(UC_HOOK_INTR, self.interrupt)
        self.uc.hook_add(UC_HOOK_INSN_INVALID, self.invalid)
        handle = self.uc._uch
        self.with_spsr = Registers(handle, [CPSR, *LOW, R13, R14, SPSR])
        self.without_spsr = Registers(handle, [CPSR, *LOW, R13, R14])
        self.status_only = Registers(handle, [CPSR])
        self.bank = Registers(handle, [R13, R14, SPSR])
        self.high = Registers(handle, LOW[8:])
        self.executed = 0
        self.status = REACHED
        self.at = 0

    def thumb(self):
        return self.uc.reg_read(CPSR) >> 5 & 1

    def interrupt(self, uc, number, _):
        self.status = INTERRUPTS.get(number, 512 + number)
        self.at = uc.reg_read(PC)
        if self.status == SOFTWARE_INTERRUPT:
            self.at -= 2 if self.thumb() else 4
        uc.emu_stop()

    def invalid(self, uc, _):
        self.status = UNDEFINED
        self.at = uc.reg_read(PC)
        return False

    def mode(self, mode):
        self.status_only.write(struct.pack("<I", 0xC0 | mode))

    def write_state(self, state, banks):
        if banks:
            for n, mode in enumerate(MODES):
                self.mode(mode)
                if mode == 0x11:
                    self.high.write(banks[72:92])
                elif mode == 0x1F:
                    self.high.write(banks[92:112])
                self.bank.write(banks[12 * n : 12 * n + 12])
        mode = state[0] & 31
        # The registers are banked by the mode, so that it is written first and by itself.
        self.mode(mode)
        (self.without_spsr if mode in NO_SPSR else self.with_spsr).write(state)

    def read_state(self):
        state = self.with_spsr.read()
        return state[:-4] + bytes(4) if state[0] & 31 in NO_SPSR else state

    def read_banks(self):
        banks, high, other = b"", b"", b""
        for mode in MODES:
            self.mode(mode)
            bank = self.bank.read()
            banks += bank[:8] + bytes(4) if mode in NO_SPSR else bank
            if mode == 0x11:
                high = self.high.read()
            elif mode == 0x1F:
                other = self.high.read()
        return banks + high + other

    def execute(self, flags, entry, end):
        self.status = REACHED
        count = 1 if flags & VERDICT else 0
        until = 0xFFFFFFFE if flags & VERDICT else end
        error = uclib.uc_emu_start(
            self.uc._uch,
            ctypes.c_uint64(entry),
            ctypes.c_uint64(until),
            ctypes.c_uint64(0),
            ctypes.c_size_t(count),
        )
        if self.status == REACHED:
            self.at = self.uc.reg_read(PC)
            if error not in (UC_ERR_OK, UC_ERR_INSN_INVALID):
                self.status = 256 + error
        return struct.pack("<II", self.status, self.at)

    def case(self, stream):
        flags, base, entry, end, code_length, data_length = struct.unpack("<6I", stream.read(24))
        state = stream.read(68)
        banks = stream.read(112) if flags & BANKS else b""
        memory = stream.read(code_length + data_length)
        self.executed += 1
        if self.executed % FLUSH_AFTER == 0:
            self.uc.ctl_flush_tb()
        if flags & VERDICT:
            # Another single instruction may have jumped here, and what lay here then was translated.
            self.uc.ctl_remove_cache(base, base + len(memory))
        uclib.uc_mem_write(
            self.uc._uch, ctypes.c_uint64(base), memory, ctypes.c_size_t(len(memory))
        )
        self.write_state(state, banks)
        head = self.execute(flags, entry, end)
        if flags & VERDICT:
            return head
        after = self.read_state()
        banks = self.read_banks() if flags & BANKS else b""
        return head + after + banks + bytes(self.uc.mem_read(base + code_length, data_length))


def main():
    server = Server()
    stream, out = sys.stdin.buffer, sys.stdout.buffer
    while head := stream.read(4):
        (count,) = struct.unpack("<I", head)
        results = [server.case(stream) for _ in range(count)]
        out.write(b"".join(results))
        out.flush()


if __name__ == "__main__":
    main()
