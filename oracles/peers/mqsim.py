"""Beside MQSim: a drive with the same parameters, and the same requests, in both."""
import re
import shutil

from fio import DRIVE
from measure import Missing, Pairs, cells, cost, print_table, run

TOOLS = {}
# Bytes of a page, and blocks of a plane so that the drive keeps its size.
PAGES = {8192: 1050, 4096: 2100}
# Bytes of a request.
REQUEST = 4096
# The jobs of queue.fio: name, share of reads, queue depth, whether the drive was written before.
JOBS = [("write-new", 0, 32, False), ("read-1", 100, 1, False), ("read-32", 100, 32, False), ("write-32", 0, 32, True)]


def program(context):
    if not context.mqsim:
        raise Missing("MQSim: clone https://github.com/CMU-SAFARI/MQSim, run make there, and give the folder by --mqsim "
                      "or in the environment variable MQSIM")
    built = context.mqsim / "MQSim"
    if not built.is_file():
        raise Missing(f"the program {built}: run make in that folder")
    return built


def version(context):
    program(context)
    done = run("git", "-C", context.mqsim, "log", "-1", "--format=%h of %cs", status=None)
    return f"commit {done.text.strip()}" if done.returncode == 0 else "of an unknown commit"


def prepare(context, page, reads, depth, written):
    """Writes the drive and the requests; gives the command that runs them."""
    drive = (context.here / "drive.xml").read_text().replace(">BLOCKS<", f">{PAGES[page]}<")
    drive = drive.replace(">PAGE<", f">{page}<").replace(">IS_WRITTEN<", f">{str(written).lower()}<")
    requests = (context.here / "requests.xml").read_text().replace(">READ_SHARE<", f">{reads}<")
    requests = requests.replace(">IN_QUEUE<", f">{depth}<")
    (context.folder / "drive.xml").write_text(drive)
    (context.folder / "requests.xml").write_text(requests)
    return [program(context), "-i", "drive.xml", "-w", "requests.xml"]


def figures(context, command):
    """Requests a second and mean latency in microseconds, as MQSim reports them."""
    run(*command, folder=context.folder)
    text = (context.folder / "requests_scenario_1.xml").read_text()
    value = lambda name: float(re.search(f"<{name}>([^<]*)<", text)[1])
    return value("IOPS"), value("End_to_End_Request_Delay")


def compare(context):
    rows = []
    job = ["run", context.here / "queue.fio", *DRIVE]
    for page in PAGES:
        ours = cells(context.boardlab, *job, "--set", f"part.flash.page={page} B", folder=context.folder)
        rows_of = {row.split(".")[0]: row for table, row, _ in ours if table == "fio"}
        for name, reads, depth, written in JOBS:
            if written and page == REQUEST:
                continue  # Whole pages replace what was written: the same as on a new drive.
            theirs = figures(context, prepare(context, page, reads, depth, written))
            value = lambda column: float(ours["fio", rows_of[name], column])
            here = value("requests_per_s"), value("mean_ns") / 1000
            show = lambda both: f"{both[0]:,.0f}/s, {both[1]:,.0f} us"
            rows.append([name, f"{page // 1024} KiB", show(theirs), show(here), f"{here[0] / theirs[0]:.2f}"])
    print_table("4 KiB at random places: requests a second and mean latency", ["job", "page of the flash", "MQSim",
                "boardlab", "ratio of the requests"], rows)
    speed(context, job)


def speed(context, job):
    # All of queue.fio here; there the job with the most requests.
    command = prepare(context, 8192, 100, 32, False)
    pairs = Pairs([context.boardlab, *job, "--quiet"], command, context.runs, context.folder)
    print_table("Processor time, whole processes", ["", "boardlab, all of queue.fio", "MQSim, read-32 alone", "ratio"],
                [pairs.processor.row("10 s a job of the drive's time")])
    for name in "ssdconfig.xml", "workload.xml":
        shutil.copy(context.mqsim / name, context.folder)
    shutil.copytree(context.mqsim / "traces", context.folder / "traces", dirs_exist_ok=True)
    used, _ = cost([program(context), "-i", "ssdconfig.xml", "-w", "workload.xml"], context.folder)
    print(f"\nThe three scenarios that MQSim comes with take it {used:.0f} s of processor time.")
