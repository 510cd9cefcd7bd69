#!/usr/bin/env python3
"""Makes demo.svg, the animated picture at the top of the README, from commands that it runs.

usage: docs/images/demo.py BOARDLAB [--check]

BOARDLAB is the built program. With --check the picture stays as it is, and the exit status is 1 if it is not what the
program prints today. The picture is a terminal of 100 columns; browsers that reduce motion show its first scene.
"""
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
from html import escape

PICTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo.svg")
COLUMNS, ROWS = 100, 27
# Pixels of a character and of a line.
WIDE, HIGH = 8.4, 19
MARGIN = 14
# Seconds before the output appears, as if the command were typed.
TYPING = 1.5

# What is said about a command, the command, and how many seconds it is shown.
SCENES = [
    ("A published evaluation, done again: print, our figures, verdicts", "boardlab reproduce nor", 16),
    ("What limits the write? Two chips in turn, and a better wait",
     "boardlab run nor-write --set board.bus.chips=2 --set linux.wait=tuned", 14),
    ("The best wait for this part, with a patch for the kernel", "boardlab tune nor-write", 14),
    ("Everything that can be changed, and what it means", "boardlab list keys nor-write", 14),
    ("What does a word mean?", "boardlab explain over-provisioning", 10),
    ("What does a power cut leave of a filesystem?",
     "boardlab powercut nand-filesystems --set powercut.operations=200 --set yaffs2.repaired=true", 16),
    ("A fio job on a card that nobody here has", "boardlab run logger.fio --set device.fill=\"100 %\"", 16),
    ("How long will the card live?",
     "boardlab life sd-life --set pattern.bytes_a_day=\"5 GB\" --set life.cards=3 --set what_if.cards=0", 16),
]
LOGGER = "[a]\nfilename=/dev/mmcblk0\ndirect=1\nrw=randwrite\nbs=4k\nsize=64m\nio_size=4m\n"

COLOURS = {"1": "bold", "1;31": "red", "2": "dim", "32": "green", "33": "yellow", "36": "cyan"}
STYLE = """
.screen { fill: #14181d; }
text { font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #d7dde4; white-space: pre; }
.said { fill: #8fb9e8; } .prompt { fill: #7fd18b; } .bold { font-weight: 700; fill: #ffffff; } .dim { fill: #9aa4ae; }
.red { fill: #ff8a80; } .green { fill: #7fd18b; } .yellow { fill: #e8c268; } .cyan { fill: #74cfd8; }
"""


def printed(program, command, folder):
    """The lines that `command` prints, with colours."""
    words = command.replace("boardlab", f'"{program}"', 1) + " --color always --no-wall-time"
    settings = dict(os.environ, BOARDLAB_CONFIG="")
    settings.pop("NO_COLOR", None)
    done = subprocess.run(words, shell=True, cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"demo: {command}: status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.stdout.decode().splitlines()


def width(text):
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def spans(line):
    """The pieces of a line, each with its class."""
    kind, pieces = None, []
    for piece in re.split("(\x1b\\[[0-9;]*m)", line):
        if piece.startswith("\x1b"):
            kind = COLOURS.get(piece[2:-1])
        elif piece:
            pieces.append((kind, piece))
    return pieces


def drawn(line, row):
    """A line of the screen. Each piece has its place, whatever the font makes of the characters before."""
    column, parts = 0, []
    for kind, piece in spans(line):
        place = f'x="{MARGIN + column * WIDE:g}" textLength="{width(piece) * WIDE:g}" lengthAdjust="spacingAndGlyphs"'
        parts.append(f'<tspan {place}{f" class={kind!r}" if kind else ""}>{escape(piece)}</tspan>')
        column += width(piece)
    return f'<text y="{MARGIN + (row + 1) * HIGH - 5:g}">{"".join(parts)}</text>' if parts else ""


def scene(index, said, command, lines):
    """A command below what is said about it, and its output as far as the screen reaches."""
    head = 2
    room = ROWS - head
    if len(lines) > room:
        lines = lines[:room - 1] + [f"\x1b[2m... {len(lines) - room + 1} more lines\x1b[0m"]
    text = [f'<text class="said" x="{MARGIN}" y="{MARGIN + HIGH - 5}"># {escape(said)}</text>',
            f'<text y="{MARGIN + 2 * HIGH - 5}"><tspan class="prompt" x="{MARGIN}">$ </tspan>{escape(command)}</text>']
    output = [drawn(line, row + head) for row, line in enumerate(lines)]
    return (f'<g class="scene s{index}">{"".join(text)}<g class="output o{index}">\n' + "\n".join(filter(None, output))
            + "\n</g></g>")


def shown(name, begin, end, total):
    """Key frames that show something from `begin` to `end`, in seconds."""
    begins, ends = (f"{100 * second / total:.3f}%" for second in (begin, end))
    before = "0% { opacity: 0; } " if begin else ""
    after = f" {ends} {{ opacity: 0; }}" if end < total else ""
    return f"@keyframes {name} {{ {before}{begins} {{ opacity: 1; }}{after} 100% {{ opacity: {int(end == total)}; }} }}"


def picture(program):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "logger.fio"), "w", encoding="utf-8") as file:
            file.write(LOGGER)
        outputs = [printed(program, command, folder) for _, command, _ in SCENES]
    total = sum(seconds for _, _, seconds in SCENES)
    rules, begin, groups = [], 0, []
    for index, ((said, command, seconds), lines) in enumerate(zip(SCENES, outputs)):
        groups.append(scene(index, said, command, lines))
        for name, from_ in ((f"s{index}", begin), (f"o{index}", begin + TYPING)):
            rules.append(shown(name, from_, begin + seconds, total))
            rules.append(f".{name} {{ animation: {name} {total}s steps(1) infinite; }}")
        begin += seconds
    rest = "@media (prefers-reduced-motion: reduce) { .scene, .output { animation: none; } .scene:not(.s0) { opacity: 0; } }"
    size = (2 * MARGIN + COLUMNS * WIDE, 2 * MARGIN + ROWS * HIGH)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]:g} {size[1]:g}" role="img">',
        f"<title>boardlab in {len(SCENES)} commands</title>",
        f"<style>{STYLE}" + "\n".join(rules + [rest]) + "</style>",
        f'<rect class="screen" width="{size[0]:g}" height="{size[1]:g}" rx="8"/>',
        *groups, "</svg>", ""])


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    programs = [one for one in arguments if not one.startswith("-")]
    if len(programs) != 1 or len(arguments) != 1 + check:
        sys.exit(__doc__.split("\n\n")[1])
    made = picture(os.path.abspath(programs[0]))
    if not check:
        with open(PICTURE, "w", encoding="utf-8") as file:
            file.write(made)
        return
    with open(PICTURE, encoding="utf-8") as file:
        kept = file.read()
    if kept != made:
        differing = [f"- {old}\n+ {new}" for old, new in zip(kept.splitlines(), made.splitlines()) if old != new]
        sys.exit("demo: demo.svg is not what the program prints; docs/images/demo.py BOARDLAB makes it again\n"
                 + "\n".join(differing[:3]))


if __name__ == "__main__":
    main()
