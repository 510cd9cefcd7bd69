"""Threads, processes, Ctrl-C, the end of the interpreter, and panics."""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import boardlab
from boardlab import _boardlab

SMALL = {"workload.bytes": "64 KiB"}


def python(code, **options):
    """Another Python with `code`."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


class Threads(unittest.TestCase):
    def test_other_threads_go_on_during_a_run(self):
        counted, done = 0, threading.Event()

        def count():
            nonlocal counted
            while not done.is_set():
                counted += 1

        thread = threading.Thread(target=count)
        thread.start()
        try:
            time.sleep(0.05)
            before = counted
            result = boardlab.run("nor-write", set={"workload.bytes": "4 MiB"}, threads=1)
            during = counted - before
        finally:
            done.set()
            thread.join()
        # With the lock held it would be a few turns at the beginning and the end.
        self.assertGreater(during, 100_000 * min(1, result.wall_time_ns / 1e9), result.wall_time_ns)

    def test_runs_at_a_time_give_the_bytes_of_runs_alone(self):
        jobs = [("run", 1), ("run", 2), ("tune", 1), ("run", 1)]
        perform = lambda action, seed: getattr(boardlab, action)("nor-write", set=SMALL, seed=seed).json
        alone = [perform(*job) for job in jobs]
        together = [None] * len(jobs)

        def work(at):
            together[at] = perform(*jobs[at])

        threads = [threading.Thread(target=work, args=(at,)) for at in range(len(jobs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(together, alone)

    def test_a_child_after_a_fork_runs_too(self):
        expected = boardlab.run("nor-write", set=SMALL).json
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.write(write, b"same" if boardlab.run("nor-write", set=SMALL).json == expected else b"other")
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            self.assertEqual(file.read(), b"same")
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_what_progress_raises_ends_the_run(self):
        class Enough(Exception):
            pass

        def raises(*_):
            raise Enough

        begun = time.monotonic()
        with self.assertRaises(Enough):
            boardlab.run("nor-write", progress=raises)
        self.assertLess(time.monotonic() - begun, 30)
        for wrong in (5, "bar", [1]):
            with self.assertRaises(boardlab.InputError):
                boardlab.run("nor-write", set=SMALL, progress=wrong)

    def test_a_bar_is_drawn_on_a_terminal_alone(self):
        run = python("""
            import boardlab
            boardlab.run("nor-write", set={"workload.bytes": "64 KiB"}, progress=True)
        """)
        self.assertEqual(run.communicate(timeout=60), ("", ""))
        import pty

        main, terminal = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-c", "import boardlab\n"
             "boardlab.run('nor-write', set={'workload.bytes': '64 KiB'}, progress=True)"],
            stderr=terminal,
        ) as run:
            os.close(terminal)
            shown = b""
            try:
                while part := os.read(main, 4096):
                    shown += part
            except OSError:
                pass
        os.close(main)
        self.assertIn(b"nor-write [", shown)
        self.assertTrue(shown.endswith(b"\r"), shown[-80:])


class Signals(unittest.TestCase):
    #: An action that takes much longer than the test.
    LONG = """
        import sys, threading, time, boardlab
        def tasks():
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("Threads:"))
        try:
            print("begun", flush=True)
            ACTION
            print("ended")
        except KeyboardInterrupt:
            at = time.monotonic()
            print("interrupted", flush=True)
            while tasks() > 1 and time.monotonic() - at < 20:
                time.sleep(0.01)
            print("alone" if tasks() == 1 else f"{tasks()} threads")
    """
    ACTIONS = {
        "run": 'boardlab.run("nor-write", set={"workload.bytes": "64 MiB"})',
        "life": 'boardlab.life("sd-life", set={"life.cards": 2000})',
        "powercut": 'boardlab.powercut("nand-filesystems", set={"powercut.operations": 50000})',
        "sweep": 'boardlab.sweep("nor-write", {"seed": range(1, 500)}, set={"workload.bytes": "256 KiB"})',
    }

    def test_an_interrupt_ends_every_action_within_a_second_and_its_work_soon(self):
        for name, action in self.ACTIONS.items():
            with self.subTest(action=name), python(self.LONG.replace("ACTION", action)) as run:
                self.assertEqual(run.stdout.readline(), "begun\n")
                time.sleep(0.6)
                begun = time.monotonic()
                run.send_signal(signal.SIGINT)
                self.assertEqual(run.stdout.readline(), "interrupted\n", run.poll())
                self.assertLess(time.monotonic() - begun, 1.0)
                self.assertEqual(run.stdout.readline(), "alone\n")
                self.assertEqual((run.wait(), run.stderr.read()), (0, ""))

    def test_the_interpreter_ends_during_a_run_of_another_thread(self):
        run = python("""
            import threading, time, boardlab
            job = lambda: boardlab.run("nor-write", set={"workload.bytes": "64 MiB"})
            threading.Thread(target=job, daemon=True).start()
            time.sleep(0.4)
        """)
        said = run.communicate(timeout=60)
        self.assertEqual((run.returncode, said), (0, ("", "")))

    def test_a_subinterpreter_is_refused(self):
        code = """
            import boardlab
            try:
                import _xxsubinterpreters as interpreters
            except ImportError:
                import _interpreters as interpreters
            it = interpreters.create()
            try:
                said = interpreters.run_string(it, "import boardlab")
                print(said.formatted if said else "loaded")
            except Exception as error:
                print(error)
        """
        run = python(code)
        said, wrong = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, wrong)
        self.assertIn("ImportError", said)
        self.assertIn("subinterpreter", said)


class Panics(unittest.TestCase):
    def test_a_panic_is_an_exception_that_says_where(self):
        for place in ("call", "run", "pool"):
            with self.subTest(place=place), self.assertRaises(boardlab.InternalError) as raised:
                _boardlab.panic(place, "nobody\x1b[2J expects it")
            said = str(raised.exception)
            self.assertIn("crates/python/src/commands.rs:", said)
            self.assertIn("nobody\\u{1b}[2J expects it", said)
            self.assertIn("report it", raised.exception.help)
        # And all is well afterwards.
        boardlab.run("nor-write", set=SMALL)

    def test_panics_of_two_threads_do_not_mix(self):
        said = {}

        def fall(words):
            try:
                _boardlab.panic("pool", words)
            except boardlab.InternalError as error:
                said[words] = str(error)

        threads = [threading.Thread(target=fall, args=(f"words {at}",)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(said), 8)
        for words, text in said.items():
            self.assertIn(words, text)


class Arguments(unittest.TestCase):
    """Arguments that the command line cannot have."""

    def test_each_wrong_argument_is_one_exception(self):
        run = lambda **more: boardlab.run("nor-write", **{"set": SMALL, **more})
        wrong = {
            "seed -1": lambda: run(seed=-1),
            "seed 2**64": lambda: run(seed=2**64),
            "seed of 5000 digits": lambda: run(seed=10**5000),
            "seed 1.5": lambda: run(seed=1.5),
            "seed nan": lambda: run(seed=float("nan")),
            "seed None": lambda: run(seed=None),
            "seed True": lambda: run(seed=True),
            "seed in words": lambda: run(seed="1"),
            "no threads": lambda: run(threads=0),
            "many threads": lambda: run(threads=10**6),
            "set 5": lambda: run(set=5),
            "set in words": lambda: run(set="linux.wait=170 us"),
            "set of bytes": lambda: run(set=b"x"),
            "set None to a key": lambda: run(set={"linux.wait": None}),
            "set an object": lambda: run(set={"linux.wait": object()}),
            "set to a number": lambda: run(set={5: "x"}),
            "set of numbers": lambda: run(set=[5]),
            "set half a surrogate": lambda: run(set={"linux.wait": "\udcff"}),
            "set 10**5000": lambda: run(set={"board.bus.chips": 10**5000}),
            "scenario None": lambda: boardlab.run(None),
            "scenario 5": lambda: boardlab.run(5),
            "scenario half a surrogate": lambda: boardlab.run("nor\ud800"),
            "scenario of bytes": lambda: boardlab.run(b"gone.toml"),
            "scenario with a zero": lambda: boardlab.run("nor\0.toml"),
            "part for a scenario": lambda: boardlab.run(boardlab.Part.load("m29ew")),
            "grid None": lambda: boardlab.sweep("nor-write", None),
            "grid in words": lambda: boardlab.sweep("nor-write", "seed=1,2"),
            "no grid": lambda: boardlab.sweep("nor-write", {}),
            "empty axis": lambda: boardlab.sweep("nor-write", {"seed": []}),
            "cell 5": lambda: boardlab.sweep("nor-write", {"seed": [1, 2]}, cells=[5]),
            "text None": lambda: boardlab.Scenario.from_toml(None),
            "result None": lambda: boardlab.Result.from_json(None),
            "page -1": lambda: boardlab.image.info("/dev/null", page=-1),
            "device for an image": lambda: boardlab.image.info("/dev/null"),
            "wrong page": lambda: boardlab.image.create("/", "/nowhere/x", page=3, block=1 << 17, max_blocks=9),
        }
        for name, call in wrong.items():
            with self.subTest(case=name):
                with self.assertRaises(boardlab.Error) as raised:
                    call()
                self.assertNotIsInstance(raised.exception, boardlab.InternalError)
                self.assertTrue(str(raised.exception).startswith("error: "), str(raised.exception))
                self.assertTrue(raised.exception.help)

    def test_a_scenario_that_goes_away_while_it_runs_does_no_harm(self):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "own.toml")
            with open(path, "w") as file:
                file.write('extends = "nor-write"\n')
            gone = lambda *_: os.path.exists(path) and os.unlink(path)
            first = boardlab.run(path, set=SMALL, progress=gone)
            self.assertEqual(first.scenario, "own")
            self.assertFalse(os.path.exists(path))
            with self.assertRaises(boardlab.InputError):
                boardlab.run(path)


if __name__ == "__main__":
    unittest.main()
