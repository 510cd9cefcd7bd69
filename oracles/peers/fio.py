"""Beside fio: the same job files through fio, on a file of this machine, and through boardlab, on a model."""
import json
import time

from measure import Difference, print_table, run

TOOLS = {"fio": "Debian's fio", "fio2gnuplot": "Debian's fio"}
DRIVE = ["--set", "part=generic-sata3-mlc-64gb", "--set", "board=linux-ahci"]
DIRECTIONS = ("read", "write")


def version():
    return run("fio", "--version").text.strip()


def leaves(value, path=()):
    """The paths of all values of a JSON document."""
    if isinstance(value, dict):
        return {leaf for key, inner in value.items() for leaf in leaves(inner, path + (key,))}
    if isinstance(value, list):
        return {leaf for inner in value for leaf in leaves(inner, path + ("*",))}
    return {path}


def compare(context):
    form(context)
    waiting(context)


def form(context):
    """What a program that reads fio's output finds in ours."""
    job = context.here / "counted.fio"
    run("fio", "--parse-only", job, folder=context.folder)
    theirs = json.loads(run("fio", "--output-format=json", job, folder=context.folder).text)
    (context.folder / "ours").mkdir()
    run(context.boardlab, "run", job, *DRIVE, "--out", "ours", "--quiet", folder=context.folder)
    ours = json.loads((context.folder / "ours/fio.json").read_text())
    rows = []
    for here, there in zip(ours["jobs"], theirs["jobs"], strict=True):
        count = lambda job: [(job[way]["total_ios"], job[way]["io_bytes"]) for way in DIRECTIONS]
        rows.append([there["jobname"], *(f"{ios:,} requests, {size:,} B" for ios, size in count(there)),
                     "the same" if count(here) == count(there) else f"differs: {count(here)}"])
    print_table("counted.fio: what is requested", ["job", "fio reads", "fio writes", "boardlab"], rows)
    here, there = leaves(ours), leaves(theirs)
    absent = {path[0] for path in there - here}
    if absent - {"disk_util"}:
        raise Difference(f"fio's JSON has values that ours lacks: {sorted(there - here)}")
    run("fio2gnuplot", "-p", "write_bw*.log", folder=context.folder / "ours")
    print(f"\nOf the {len(there)} kinds of values in fio's JSON {len(there & here)} are in ours; the others are "
          f"{', '.join(sorted(absent)) or 'none'}. `fio2gnuplot` reads our bandwidth log.")


def waiting(context):
    """How long an answer takes."""
    job = context.here / "queue.fio"
    begun = time.monotonic()
    theirs = json.loads(run("fio", "--output-format=json", job, folder=context.folder).text)
    there = time.monotonic() - begun
    begun = time.monotonic()
    ours = json.loads(run(context.boardlab, "run", job, *DRIVE, "--format", "fio-json", "--quiet",
                          folder=context.folder).text)
    here = time.monotonic() - begun
    rows = []
    for mine, other in zip(ours["jobs"], theirs["jobs"], strict=True):
        way = "read" if mine["jobname"].startswith("read") else "write"
        of = lambda job: f"{job[way]['iops']:,.0f}/s, {job[way]['clat_ns']['mean'] / 1000:,.0f} us"
        rows.append([mine["jobname"], of(other), of(mine)])
    rows.append(["elapsed time", f"{there:.1f} s", f"{here:.1f} s"])
    print_table("queue.fio: what each answers, and when", ["job", "fio, about this machine's disk",
                "boardlab, about the example drive"], rows)
    (context.folder / "target.img").unlink(missing_ok=True)
