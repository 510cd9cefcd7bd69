"""Beside QEMU: the same ARM programs on both boards, what each prints, and the processor time of both."""
import os

from measure import Difference, Pairs, cells, print_table, run

TOOLS = {"qemu-system-arm": "Debian's qemu-system-arm", "arm-none-eabi-gcc": "Debian's gcc-arm-none-eabi"}
MACHINE = ["qemu-system-arm", "-M", "realview-eb", "-cpu", "arm926", "-m", "128", "-nographic", "-semihosting",
           "-kernel"]
# Maintenance operations that coherence.c can leave out: which, and the value of FAULT.
FAULTS = {"none": 0, "clean the new code": 1, "invalidate the old code": 2, "clean a dirty line": 3,
          "clean a descriptor": 5, "invalidate the TLB": 6}
# Rounds of mix.c, so that a run takes some seconds.
ROUNDS = 840


def build(context, source, name, *flags):
    guests = context.root / "crates/realview/guests"
    files = [guests / file for file in ("start.S", "support.c", source)]
    run("arm-none-eabi-gcc", "-mcpu=arm926ej-s", "-marm", "-O2", "-ffreestanding", "-nostdlib", "-I", guests, "-T",
        guests / "guest.ld", *files, *flags, "-lgcc", "-o", name, folder=context.folder)


def version():
    return run("qemu-system-arm", "--version").text.splitlines()[0]


def printed_by_qemu(context, name):
    """What a program writes to its console: QEMU sends it to standard error where it came by semihosting."""
    done = run(*MACHINE, name, folder=context.folder)
    lines = (done.text + done.messages).splitlines()
    return [line for line in lines if line and not line.startswith("qemu")][-1]


def compare(context):
    os.environ.setdefault("QEMU_AUDIO_DRV", "none")
    compute(context)
    stale(context)


def compute(context):
    rows = []
    for name, flags in ("inlined", []), ("with calls", ["-fno-inline"]):
        build(context, "mix.c", "mix.elf", f"-DROUNDS={ROUNDS}", *flags)
        ours = [context.boardlab, "os", "run", "mix.elf", "--quiet"]
        result = cells(context.boardlab, "os", "run", "mix.elf", folder=context.folder)
        here = run(*ours, folder=context.folder).text.strip()
        there = printed_by_qemu(context, "mix.elf")
        if here != there:
            raise Difference(f"mix.c prints {here} here and {there} on QEMU")
        pairs = Pairs(ours, MACHINE + ["mix.elf"], context.runs, context.folder)
        value = lambda row: result["run", row, "value"]
        rows.append([name, here, f"{int(value('instructions')):,}", f"{int(value('cycles')):,}",
                     f"{float(value('cpi')):.3f}", *pairs.processor.row(name)[1:]])
    print_table("mix.c: sorting, CRC-32 and matrices", ["mix.c", "prints on both", "instructions", "cycles here",
                "cycles an instruction", "processor time here", "on QEMU", "ratio"], rows)


def stale(context):
    rows = []
    for left_out, fault in FAULTS.items():
        build(context, "coherence.c", "coherence.elf", f"-DFAULT={fault}")
        command = [context.boardlab, "os", "run", "coherence.elf", "--check"]
        done = run(*command, "--format", "csv", "--quiet", folder=context.folder, status=1 if fault else 0)
        # The result is on standard output, and what the program prints on standard error.
        found = {line.split(",")[2] for line in done.text.splitlines() if ",coherence," in line}
        here = run(*command[:-1], "--quiet", folder=context.folder).text.strip()
        there = printed_by_qemu(context, "coherence.elf")
        if bool(fault) != bool(found):
            raise Difference(f"coherence.c with fault {fault}: {len(found)} violations are reported")
        rows.append([left_out, there, here, len(found)])
    print_table("coherence.c: a maintenance operation is left out", ["left out", "QEMU prints", "boardlab prints",
                "violations that `--check` reports"], rows)
