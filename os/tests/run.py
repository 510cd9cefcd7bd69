#!/usr/bin/env python3
"""Boots the kernel on QEMU or on the simulator, types commands at the shell's prompt, prints the console.

Each COMMAND is typed once the prompt stands there; behind the last one `halt` ends the machine. Exit status:
0 all expected texts came in their order and no rejected one; 1 not so, or the kernel panicked; 2 usage;
3 the time is over; 4 the machine ended by itself.

    run.py --machine qemu --expect 'ALL TESTS PASSED' usertests
    run.py --simulator target/release/boardlab --check --options 'fcse=0' 'bench null 1000' ls
"""
import argparse
import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROMPT = "$ "
PANIC = "panic: "


def qemu(args):
    command = ["qemu-system-arm", "-M", "realview-eb", "-cpu", "arm926", "-m", "128", "-nographic",
               "-audiodev", "none,id=none", "-kernel", args.kernel]
    # An instruction takes 4 ns of the guest's time: a host that is busy elsewhere is no early tick.
    command += ["-icount", "shift=2"]
    if not args.no_semihosting:
        command += ["-semihosting"]
    if args.options:
        command += ["-append", args.options]
    if args.card:
        command += ["-drive", f"if=sd,format=raw,file={args.card}"]
    return command


def simulator(args):
    command = [args.simulator, "os", "run", args.kernel, "--live", "--quiet"]
    if args.options:
        command += ["--command-line", args.options]
    if args.card:
        command += ["--card", args.card, "--card-write"]
    if args.check:
        command += ["--check"]
    if args.engine:
        command += ["--engine", args.engine]
    for setting in args.set:
        command += ["--set", setting]
    return command


class Console:
    """The machine's serial port: all it ever printed, and what is typed."""

    def __init__(self, command, deadline, echo):
        environment = dict(os.environ, QEMU_AUDIO_DRV="none")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment)
        self.deadline = deadline
        self.echo = echo
        self.text = ""
        self.notes = b""
        self.ended = False
        self.changed = threading.Condition()
        self.threads = [threading.Thread(target=self.listen, daemon=True),
                        threading.Thread(target=self.keep_notes, daemon=True)]
        for thread in self.threads:
            thread.start()

    def listen(self):
        while True:
            data = os.read(self.process.stdout.fileno(), 65536)
            text = data.decode("latin-1").replace("\r", "")
            with self.changed:
                self.text += text
                self.ended = not data
                self.changed.notify()
            if self.echo:
                sys.stdout.write(text)
                sys.stdout.flush()
            if not data:
                return

    def keep_notes(self):
        self.notes = self.process.stderr.read()

    def wait(self, happened):
        """Waits till happened() or the machine's end; says whether it happened. TimeoutError at the deadline."""
        with self.changed:
            while not happened():
                if self.ended:
                    return False
                left = self.deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                self.changed.wait(left)
            return True

    def prompt(self, start):
        """Waits for a prompt behind the line at position `start`; False if there will be none."""
        def came():
            line, end, new = self.text[start:].partition("\n")
            return PANIC in line + new or new.endswith(PROMPT) or "\n" + PROMPT in end + new
        return self.wait(came) and PANIC not in self.text

    def type(self, line):
        start = len(self.text)
        self.process.stdin.write(line.encode("latin-1") + b"\n")
        self.process.stdin.flush()
        return start

    def close(self):
        """Ends the process; its exit status."""
        if self.process.poll() is None:
            self.process.kill()
        status = self.process.wait()
        for thread in self.threads:
            thread.join(5)
        return status


def converse(console, commands, halt):
    """Types the commands, each at its prompt, and `halt`; False if the machine ended before."""
    start = 0
    for command in commands:
        if not console.prompt(start):
            return False
        start = console.type(command)
    if not console.prompt(start):
        return False
    if halt:
        console.type("halt")
        console.wait(lambda: False)
    return True


def verdict(console, args, finished):
    """Exit status and why."""
    if PANIC in console.text:
        return 1, "the kernel panicked"
    place = 0
    for text in args.expect:
        found = console.text.find(text, place)
        if found < 0:
            return 1, f"'{text}' did not come" + (" at its place" if text in console.text else "")
        place = found + len(text)
    for text in args.reject:
        if text in console.text:
            return 1, f"'{text}' came"
    if not finished:
        return 4, "the machine ended by itself"
    return 0, ""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", choices=["qemu", "simulator"], default="simulator")
    parser.add_argument("--simulator", default="boardlab", metavar="PROGRAM", help="the simulator's program")
    parser.add_argument("--kernel", default=os.path.join(HERE, "..", "build", "kernel.elf"), metavar="ELF")
    parser.add_argument("--options", default="", help="options of the kernel: name=value ...")
    parser.add_argument("--card", metavar="IMAGE", help="memory card; it is written")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS")
    parser.add_argument("--expect", action="append", default=[], metavar="TEXT")
    parser.add_argument("--reject", action="append", default=[], metavar="TEXT")
    parser.add_argument("--quiet", action="store_true", help="do not show the console")
    parser.add_argument("--check", action="store_true", help="simulator: look for incoherence")
    parser.add_argument("--engine", help="simulator: how the core is simulated")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="simulator: of the board")
    parser.add_argument("--no-semihosting", action="store_true", help="qemu: without; the machine is then killed")
    parser.add_argument("commands", nargs="*", metavar="COMMAND")
    return parser.parse_args()


def main():
    args = arguments()
    start = time.monotonic()
    command = qemu(args) if args.machine == "qemu" else simulator(args)
    try:
        console = Console(command, start + args.limit, not args.quiet)
    except OSError as error:
        print(f"run.py: cannot start {command[0]}: {error}", file=sys.stderr)
        return 2
    try:
        finished = converse(console, args.commands, halt=not args.no_semihosting)
        status, why = verdict(console, args, finished)
    except TimeoutError:
        status, why = 3, f"after {args.limit:g} s it still runs"
    code = console.close()
    if status == 0 and code not in (0, -9):
        status, why = 1, f"the machine's exit code is {code}"
    if status and console.notes:
        sys.stderr.write(console.notes.decode("latin-1"))
    took = time.monotonic() - start
    print(f"\nrun.py: {args.machine}: {'ok' if status == 0 else why} ({took:.2f} s)", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
