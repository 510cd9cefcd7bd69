"""Bad input, in Python and on the command line: both must say the same.

A case is a name, a call, and the arguments of `boardlab` with which it says the same. Both run in a folder with
`FILES`. Settings in Python are a dict where that is natural, and the arguments of `--set` themselves where a dict could
not be so wrong.
"""
import boardlab
from boardlab import image

NOR = 'experiment = "nor-write"\ntitle = "mine"\npart = "nor-evaluation"\nboard = "powerpc-800"\n'

FILES = {
    "not-toml.toml": b"[workload\nbytes = 1\n",
    "twice.toml": NOR.encode() + b'[workload]\nbytes = "1 KiB"\nbytes = "2 KiB"\n',
    "latin.toml": NOR.encode() + b'# caf\xe9\n',
    "large.toml": b"#" * ((1 << 20) + 1),
    "empty.toml": b"",
    "no-experiment.toml": b'title = "mine"\npart = "nor-evaluation"\n',
    "other-experiment.toml": b'experiment = "nor-wirte"\ntitle = "x"\n',
    "unknown-key.toml": NOR.encode() + b'[workload]\nbites = "1 KiB"\n',
    "bare-number.toml": NOR.encode() + b"[workload]\nbytes = 1024\n",
    "no-part.toml": b'experiment = "nor-write"\ntitle = "mine"\npart = "m29"\nboard = "powerpc-800"\n',
    "part-path.toml": b'experiment = "nor-write"\ntitle = "mine"\npart = "./gone.toml"\nboard = "powerpc-800"\n',
    "loop.toml": b'extends = "./loop.toml"\n',
    "extends-number.toml": b"extends = 5\n",
    "hostile.toml": NOR.encode() + "[workload]\nbytes = \"\\u001b[2J\\u202e\"\n".encode(),
    "good.toml": b'extends = "nor-write"\ntitle = "mine"\n',
    "notes.txt": b"no scenario\n",
    "empty.bin": b"",
    "text.bin": b"no flash image, but a text of some length\n" * 400,
    "zeros.bin": bytes(1 << 18),
    "erased.bin": b"\xff" * (1 << 18),
}


def setting(key, value, scenario="nor-write"):
    """A case of one wrong value."""
    call = lambda: boardlab.run(scenario, set={key: value})
    return call, ["run", scenario, "--set", f"{key}={value}"]


def argument(text):
    """A case of a wrong argument of `--set`."""
    return lambda: boardlab.run("nor-write", set=[text]), ["run", "nor-write", "--set", text]


def scenario(name):
    """A case of a wrong scenario."""
    return lambda: boardlab.run(name), ["run", name]


def loaded(name):
    """The same, when it is loaded."""
    return lambda: boardlab.Scenario.load(name), ["run", name]


def grid(*axes, cells=()):
    """A case of a wrong grid."""
    options = [word for axis in axes for word in ("--grid", axis)]
    options += [word for cell in cells for word in ("--cell", cell)]
    small = "workload.bytes=64 KiB"
    call = lambda: boardlab.sweep("nor-write", list(axes), set=[small], cells=cells)
    return call, ["sweep", "nor-write", "--set", small, *options]


def action(name, which):
    """A case of an action that a scenario has not."""
    return lambda: getattr(boardlab, name)(which), [name, which]


def asked(name, *words):
    """A case of a wrong image."""
    return lambda: getattr(image, name)(*words), ["image", name, *words]


CASES = {
    "unknown scenario": scenario("nor-wirte"),
    "empty name": scenario(""),
    "name with control characters": scenario("nor\x1b[2Jwrite"),
    "name of a thousand characters": scenario("x" * 1000),
    "part for a scenario": scenario("m29ew"),
    "board for a scenario": scenario("powerpc-800"),
    "scenario that is no file": scenario("./gone.toml"),
    "scenario below a file": scenario("good.toml/x.toml"),
    "folder for a scenario": scenario("./"),
    "text for a scenario": scenario("notes.txt"),
    "fio jobs that are no file": scenario("gone.fio"),
    "not TOML": scenario("not-toml.toml"),
    "key twice": scenario("twice.toml"),
    "not UTF-8": scenario("latin.toml"),
    "too large": scenario("large.toml"),
    "empty file": scenario("empty.toml"),
    "no experiment": loaded("no-experiment.toml"),
    "unknown experiment": loaded("other-experiment.toml"),
    "unknown key in a file": scenario("unknown-key.toml"),
    "bare number in a file": scenario("bare-number.toml"),
    "unknown part in a file": loaded("no-part.toml"),
    "part that is no file": loaded("part-path.toml"),
    "file that extends itself": scenario("loop.toml"),
    "file that extends a number": scenario("extends-number.toml"),
    "text that would move the cursor": scenario("hostile.toml"),
    "no unit": setting("linux.wait", "5"),
    "unknown unit": setting("workload.bytes", "64 KB/s"),
    "unit of another quantity": setting("workload.bytes", "5 us"),
    "negative size": setting("workload.bytes", "-1 KiB"),
    "zero size": setting("workload.bytes", "0 KiB"),
    "huge size": setting("workload.bytes", "99999999999999999999 GiB"),
    "more than the part": setting("workload.bytes", "1 TiB"),
    "words for a size": setting("workload.bytes", "much"),
    "empty size": setting("workload.bytes", ""),
    "not a number": setting("tune.quantile", "nan"),
    "infinity": setting("tune.quantile", "inf"),
    "huge integer": setting("board.bus.chips", 10**40),
    "negative integer": setting("board.bus.chips", -1),
    "decimal for an integer": setting("board.bus.chips", 1.5),
    "not a number for an integer": setting("board.bus.chips", float("nan")),
    "list for an integer": setting("board.bus.chips", "[1, 2]"),
    "unknown pattern": setting("workload.pattern", "stripes"),
    "unknown wait": setting("linux.wait", "forever"),
    "unknown key": setting("linux.wiat", "170 us"),
    "unknown section": setting("lunix.wait", "170 us"),
    "key below a value": setting("linux.wait.long", "170 us"),
    "section for a value": setting("linux", "170 us"),
    "seed as a key": setting("seed", 5),
    "unknown part": setting("part", "m29"),
    "board for a part": setting("part", "powerpc-800"),
    "part of another kind": setting("part", "./notes.toml"),
    "another kind of scenario": setting("experiment", "sd-wear"),
    "no equals sign": argument("linux.wait"),
    "empty argument": argument(""),
    "empty key": argument("=5"),
    "empty part of a key": argument("linux..wait=170 us"),
    "key of many parts": argument(".".join("abcdefghijklmnopqrstuvw") + "=1"),
    "control characters in a value": argument("linux.wait=\x1b[2J"),
    "life of a NOR flash": action("life", "nor-write"),
    "power cuts of a NOR flash": action("powercut", "nor-write"),
    "advice of a card's life": action("advise", "sd-life"),
    "waits of a filesystem": action("tune", "nand-filesystems"),
    "unknown evaluation": (lambda: boardlab.reproduce("norr"), ["reproduce", "norr"]),
    "all evaluations": (lambda: boardlab.reproduce("all"), ["reproduce", "all"]),
    "scenario without an evaluation": (lambda: boardlab.reproduce("sd-life"), ["reproduce", "sd-life"]),
    "grid without values": grid("linux.wait="),
    "grid without a key": grid("170 us"),
    "value of a grid twice": grid("seed=1,2,1"),
    "range that goes down": grid("board.bus.chips=4..1"),
    "list of a grid that is open": grid("linux.wait=[1,2"),
    "empty value of a grid": grid("seed=1,,2"),
    "seed of a grid that is none": grid("seed=one,two"),
    "grid of an unknown key": grid("linux.wiat=170 us,180 us"),
    "wrong value of a grid": grid("linux.wait=170 us,5"),
    "key of a grid twice": grid("seed=1,2", "seed=3,4"),
    "cell that is none": grid("seed=1,2", cells=("table5",)),
    "unknown cell": grid("seed=1,2", cells=("table5/total/nothing",)),
    "sweep of a part": (
        lambda: boardlab.sweep("m29ew", {"seed": [1, 2]}),
        ["sweep", "m29ew", "--grid", "seed=1,2"],
    ),
    "image that is no file": asked("info", "gone.bin"),
    "folder for an image": asked("check", "."),
    "empty image": asked("ls", "empty.bin"),
    "text for an image": asked("ls", "text.bin"),
    "zeros for an image": asked("check", "zeros.bin"),
    "erased flash": asked("ls", "erased.bin"),
    "wrong escape in a path": asked("ls", "text.bin", "/a\\u{zz}"),
    "difference of an image and nothing": asked("diff", "text.bin", "gone.bin"),
    "extraction from nothing": asked("extract", "gone.bin", "files"),
}
