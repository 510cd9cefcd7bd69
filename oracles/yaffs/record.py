#!/usr/bin/env python3
"""Runs jobs with the program of README.md, and prints what the tests compare.

record.py PROGRAM PROGRAM64 trees|collections|cuts
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).parent
NAND = {
    "2048": "--blocks 64",
    "4096": "--page 4096 --spare 128 --blocks 48",
    "inband-2048": "--blocks 64 --inband",
    "inband-4096": "--page 4096 --spare 128 --blocks 48 --inband",
    "yaffs1": "--yaffs1 --blocks 400",
    "yaffs1-packed": "--yaffs1-mtd --blocks 400",
    "small": "--blocks 24",
    "small-inband": "--blocks 70 --pages 32 --inband",
    "small-yaffs1": "--yaffs1 --blocks 120",
    "no-tags-ecc": "--blocks 64 --no-tags-ecc",
    "no-summary": "--blocks 64 --no-summary",
    "word64": "--blocks 64",
    "big-endian": "--blocks 64 --big-endian",
    "no-cache": "--blocks 64 --caches 0",
    "scan": "--blocks 64 --skip-checkpoint-read",
}
COUNTED = ("page_reads", "oob_reads", "programs", "erases")
LAYOUTS = ("2048", "4096", "inband-2048", "inband-4096", "yaffs1", "yaffs1-packed")
OTHERS = ("no-tags-ecc", "no-summary", "word64", "big-endian", "no-cache", "scan")
SMALL = ("small", "small-inband", "small-yaffs1")
# Jobs after which YAFFS1 finds two copies of a chunk of a file. The sources choose by a variable that they never set.
UNDEFINED = tuple(f"cut-{number:02}" for number in (3, 8, 10, 16, 20, 23))


# The object of the chunks of block summaries.
SUMMARY = 0x10


def crc(data):
    return f"{zlib.crc32(data):08x}"


def told(text):
    """The lines of the program that count, the trees as sums."""
    tree, out = [], []

    def close():
        if tree:
            whole = "".join(line + "\n" for line in tree).encode()
            out.append(f"manifest {len(tree)} {crc(whole)}")
            tree.clear()

    for line in text.splitlines():
        words = line.split(" ")
        if len(words) == 12 and "=" not in words[1]:
            tree.append(line)
            continue
        close()
        if words[0] == "failed":
            out.append(f"failed {int(words[1]) - 1} {words[2]}")
        elif words[1:] and words[1].startswith("page_reads="):
            counts = dict(word.split("=") for word in words[1:])
            out.append(" ".join([words[0], *(counts[name] for name in COUNTED)]))
    close()
    return out


def comparable(flash, setting):
    """The flash without what the sources leave to chance.

    Behind the entries of a block summary there is what the memory held.
    """
    words = NAND[setting].split()
    number = lambda name, default: int(words[words.index(name) + 1]) if name in words else default
    page, spare, pages = number("--page", 2048), number("--spare", 64), number("--pages", 64)
    if "yaffs1" in setting:
        return flash
    place = page - 16 if "--inband" in words else page + 2
    entries = 16 + 12 * (pages - 1)
    flash = bytearray(flash)
    for at in range(0, len(flash), page + spare):
        object = int.from_bytes(flash[at + place + 4 : at + place + 8], "little")
        if object == SUMMARY:
            end = page - 16 if "--inband" in words else page
            flash[at + entries : at + end] = b"\xff" * (end - entries)
    return bytes(flash)


def run(programs, job, setting):
    program = programs[setting == "word64"]
    lines = (HERE / "jobs" / f"{job}.job").read_text()
    out, operations = [], b""
    with tempfile.TemporaryDirectory() as folder:
        image, trace = f"{folder}/image", f"{folder}/trace"
        options = [*NAND[setting].split(), image, "-"]
        # After a power cut the program begins anew.
        for part in lines.split("power\n"):
            done = subprocess.run(
                [program, *options],
                input=f"trace {trace}\n{part}",
                capture_output=True,
                text=True,
                env={**os.environ, "YO_WHOLE": "1"},
            )
            if done.returncode not in (0, 9):
                sys.exit(f"{job} {setting}: status {done.returncode}: {done.stderr[-400:]}")
            out += told(done.stdout)
            if done.returncode == 9:
                out.append("cut")
            operations += pathlib.Path(trace).read_bytes()
        flash = pathlib.Path(image).read_bytes()
    out.append(f"trace {operations.count(10)} {crc(operations)}")
    # A machine of the other byte order leaves some fields in its own.
    if setting != "big-endian":
        out.append(f"image {len(flash)} {crc(comparable(flash, setting))}")
    return out


def main():
    *programs, kind = sys.argv[1:]
    jobs = sorted(path.stem for path in (HERE / "jobs").glob("*.job"))
    if kind == "trees":
        plan = [(job, setting) for job in jobs if job.startswith("tree") for setting in LAYOUTS]
        plan += [(job, setting) for job in jobs[-3:] if job.startswith("tree") for setting in OTHERS]
    elif kind == "collections":
        plan = [(job, setting) for job in jobs if job.startswith("collect") for setting in SMALL]
    else:
        plan = [(job, setting) for job in jobs if job.startswith("cut") for setting in SMALL]
        plan = [each for each in plan if each[0] not in UNDEFINED or "yaffs1" not in each[1]]
    for job, setting in plan:
        print(f"@ {job} {setting}")
        print("\n".join(run(programs, job, setting)))


if __name__ == "__main__":
    main()
