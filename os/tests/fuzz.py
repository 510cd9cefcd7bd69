#!/usr/bin/env python3
"""Makes all system calls at random, with a seed, on a kernel that checks its contracts; fsck looks at the card behind it.

For each seed: a card with the programs of os/build/checked (`make -C os CHECKS=1`), a start of the kernel with options that
the seed chooses, the program `fuzz SEED CALLS`, `halt`, and `fsck`. Prints a line a seed, and for one that fails what the
console said. Exit status: 0 all are whole; 1 one is not; 2 usage.

    fuzz.py --machine qemu --seed 1 --count 20
    fuzz.py --simulator target/release/boardlab --seed 7
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = ["tick=300", "fcse=0", "slots=2 tick=1000", "tick=1000 ahead=0", "slots=9", ""]
PROGRAMS = ["cat", "echo", "fuzz", "halt", "init", "ls", "sh", "started"]
CARD = 512 << 10    # bytes; QEMU wants a power of two


def make_card(build, path):
    programs = [os.path.join(build, "user", name) for name in PROGRAMS]
    subprocess.run([os.path.join(build, "mkfs"), "-s", "400", "-i", "60", path, *programs], check=True)
    os.truncate(path, CARD)


def run(args, seed, card):
    """What the console said of this seed."""
    options = "disk=card " + OPTIONS[seed % len(OPTIONS)]
    command = [sys.executable, os.path.join(HERE, "run.py"), "--machine", args.machine, "--simulator", args.simulator,
               "--kernel", os.path.join(args.build, "kernel.elf"), "--options", options, "--card", card,
               "--limit", str(args.limit), "--expect", "fuzz: WHOLE", "--reject", "FAIL", f"fuzz {seed} {args.calls}"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.returncode == 0, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", choices=["qemu", "simulator"], default="qemu")
    parser.add_argument("--simulator", default="boardlab", metavar="PROGRAM")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "checked"), metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1, help="seeds from SEED on")
    parser.add_argument("--calls", type=int, default=200, help="of each process")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="of one seed")
    args = parser.parse_args()
    failed = 0
    for seed in range(args.seed, args.seed + args.count):
        with tempfile.TemporaryDirectory() as folder:
            card = os.path.join(folder, "card.img")
            make_card(args.build, card)
            whole, said = run(args, seed, card)
            fsck = subprocess.run([os.path.join(args.build, "fsck"), card], capture_output=True, text=True)
        whole = whole and fsck.returncode == 0
        failed += not whole
        print(f"seed {seed}: {'whole' if whole else 'FAILED'}", flush=True)
        if not whole:
            sys.stdout.write(said + fsck.stdout)
    print(f"{args.count} seeds, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
