"""Runs a guest program of crates/realview/guests in Unicorn, and prints the processor time in nanoseconds.

Unicorn models no time, no caches and no devices: what it takes is compared with what the simulated core takes. The argument
is an ELF. Semihosting: the exit ends the run, everything else does nothing.
"""

import struct
import sys
import time

from unicorn import UC_ARCH_ARM, UC_HOOK_INTR, Uc, arm_const
from unicorn.unicorn_const import UC_MODE_ARM, UC_MODE_ARM926

MEMORY = 128 << 20
DEVICES, DEVICES_SIZE = 0x1000_0000, 1 << 20
EXITS = (0x18, 0x20)


def load(machine, elf):
    """Copies the segments, and returns the entry point."""
    entry, headers = struct.unpack_from("<II", elf, 24)
    size, count = struct.unpack_from("<HH", elf, 42)
    for number in range(count):
        kind, offset, _, physical, length = struct.unpack_from("<5I", elf, headers + number * size)
        if kind == 1:
            machine.mem_write(physical, elf[offset : offset + length])
    return entry


def main():
    with open(sys.argv[1], "rb") as file:
        elf = file.read()
    machine = Uc(UC_ARCH_ARM, UC_MODE_ARM | UC_MODE_ARM926)
    machine.mem_map(0, MEMORY)
    machine.mem_map(DEVICES, DEVICES_SIZE)
    entry = load(machine, elf)
    ended = []

    def interrupt(machine, number, _):
        if number != 2 or machine.reg_read(arm_const.UC_ARM_REG_R0) in EXITS:
            ended.append(number)
            machine.emu_stop()

    machine.hook_add(UC_HOOK_INTR, interrupt)
    machine.reg_write(arm_const.UC_ARM_REG_CPSR, 0xD3)
    start = time.process_time_ns()
    machine.emu_start(entry, 0xFFFF_FFFC)
    spent = time.process_time_ns() - start
    if ended != [2]:
        sys.exit(f"the program ended otherwise than by semihosting: {ended}")
    print(spent)


main()
