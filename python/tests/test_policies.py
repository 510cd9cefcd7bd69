"""Policies written in Python: what they see, what they change, and what is wrong with them."""
import subprocess
import sys
import threading
import time
import unittest

import boardlab
from boardlab.policies import Batch
from cards import ALONE

SMALL = {"workload.bytes": "128 KiB"}


def total(result):
    return result.tables["table5"]["total", "total_ns"].value


class Follower:
    """Waits shorter while the first poll finds the chip ready, and longer while it does not."""

    def __init__(self):
        self.micros = 200

    def __call__(self, seen):
        ready = seen.polls.count(1)
        self.micros += 1 if ready * 2 < len(seen.polls) else -1
        return self.micros


class Waits(unittest.TestCase):
    def test_a_constant_policy_gives_the_figures_of_that_wait(self):
        own = boardlab.run("nor-write", set=SMALL, policies={"linux.wait": lambda seen: 170})
        fixed = boardlab.run("nor-write", set={**SMALL, "linux.wait": "170 us"})
        stock = boardlab.run("nor-write", set=SMALL)
        self.assertEqual(total(own), total(fixed))
        self.assertNotEqual(total(own), total(stock))
        nothing = boardlab.run("nor-write", set=SMALL, policies={"linux.wait": lambda seen: None})
        self.assertEqual(total(nothing), total(stock))

    def test_a_policy_sees_each_operation_once_and_is_not_called_for_each(self):
        seen, lock = [], threading.Lock()

        def wait(waits):
            with lock:
                seen.append(waits)

        boardlab.run("nor-write", set=SMALL, policies={"uboot.wait": Batch(wait, 100)})
        sizes = [len(waits.polls) for waits in seen]
        # 128 KiB are 256 buffers of 512 bytes.
        self.assertEqual(sizes, [0, 100, 100])
        self.assertTrue(all(polls >= 1 for waits in seen for polls in waits.polls))
        self.assertFalse(any(failed for waits in seen for failed in waits.failed))

    def test_runs_with_a_policy_that_remembers_are_equal(self):
        follower = Follower()
        policies = {"linux.wait": Batch(follower, 16)}
        first, again, alone = (
            boardlab.run("nor-write", set=SMALL, policies=policies, threads=threads) for threads in (2, 2, 1)
        )
        self.assertEqual(first.json, again.json)
        self.assertEqual(first.json, alone.json)
        self.assertEqual(follower.micros, 200)
        self.assertNotEqual(total(first), total(boardlab.run("nor-write", set={**SMALL, "linux.wait": "199 us"})))
        self.assertIn("linux.wait is Follower, the caller's own policy, asked every 16 operations.", first.warnings)

    def test_tuning_compares_a_policy_with_the_others(self):
        table = boardlab.tune("nor-write", set=SMALL, policies={"linux.wait": Follower()}).tables["program_wait"]
        self.assertIn("Follower", next(row.title for row in table.rows if row.id == "own"))
        self.assertLess(table["own", "mean_ns"].value, table["toggle-only", "mean_ns"].value * 2)

    def test_what_a_policy_raises_ends_the_run(self):
        class Breaks(Exception):
            pass

        def breaks(seen):
            raise Breaks("the reason")

        with self.assertRaisesRegex(Breaks, "the reason"):
            boardlab.run("nor-write", set=SMALL, policies={"linux.wait": breaks})

        class NoCopy:
            def __call__(self, seen):
                return 1

            def __deepcopy__(self, memo):
                raise Breaks("no copy")

        with self.assertRaisesRegex(Breaks, "no copy"):
            boardlab.run("nor-write", set=SMALL, policies={"linux.wait": NoCopy()})

    def test_ctrl_c_ends_a_run_within_a_slow_policy(self):
        import _thread

        def slow(seen):
            time.sleep(0.01)

        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        begun = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            boardlab.run("nor-write", policies={"linux.wait": Batch(slow, 1)})
        timer.join()
        self.assertLess(time.monotonic() - begun, 10)

    def test_the_interpreter_ends_while_a_policy_is_called(self):
        code = (
            "import boardlab, threading, time\n"
            "from boardlab.policies import Batch\n"
            "called = threading.Event()\n"
            "def slow(seen):\n"
            "    called.set()\n"
            "    time.sleep(0.02)\n"
            "def run():\n"
            "    boardlab.run('nor-write', policies={'linux.wait': Batch(slow, 1)})\n"
            "threading.Thread(target=run, daemon=True).start()\n"
            "called.wait()\n"
        )
        for _ in range(3):
            ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_what_is_no_policy_is_told(self):
        for policies, says in [
            (3, "policies is int"),
            ({"linux.wait": 3}, "the policy for linux.wait is 3"),
            ({3: Follower()}, "the key of a policy"),
            ({"linux.wait": Batch(Follower(), 0)}, "the policy for linux.wait is 0"),
            ({"linux.wait": Batch(Follower(), -1)}, "the size of a batch is -1"),
            ({"linux.wait": lambda seen: -1}, "the policy for linux.wait returns -1"),
            ({"linux.wait": lambda seen: True}, "the policy for linux.wait returns True"),
            ({"linux.wait": lambda seen: 1_000_001}, "the policy for linux.wait returns 1000001"),
            ({"linux.wait": lambda seen: "170 us"}, "the policy for linux.wait returns '170 us'"),
            ({"linux.poll_gap": Follower()}, "`linux.poll_gap`: `own` does not begin with a number"),
            ({"linux.weit": Follower()}, "unknown key `weit`"),
        ]:
            with self.subTest(says), self.assertRaises(boardlab.InputError) as caught:
                boardlab.run("nor-write", set=SMALL, policies=policies)
            self.assertIn(says, str(caught.exception))
        with self.assertRaises(boardlab.InputError) as caught:
            boardlab.run("nor-write", set={"linux.wait": "own"})
        self.assertIn("a policy of the caller, who gives none", str(caught.exception))


POLICY = "part.collection.policy"


def oldest(seen):
    order = sorted(zip(seen.age, seen.block), key=lambda one: (-one[0], one[1]))
    return [block for _, block in order]


class Collections(unittest.TestCase):
    def test_a_policy_decides_what_is_collected(self):
        seen = []

        def watched(blocks):
            seen.append(blocks)
            return oldest(blocks)

        own = boardlab.life("sd-life", set=ALONE, policies={POLICY: Batch(watched, 1)})
        fifo = boardlab.life("sd-life", set={**ALONE, POLICY: "fifo"})
        random = boardlab.life("sd-life", set={**ALONE, POLICY: "random"})
        written = [one.tables["life"]["end", "written_50_bytes"].value for one in (own, fifo, random)]
        self.assertLess(abs(written[0] / written[1] - 1), 0.02)
        self.assertLess(written[2], 0.8 * written[1])
        self.assertTrue(seen)
        for blocks in seen:
            lengths = {len(column) for column in blocks[:4]}
            self.assertEqual(lengths, {len(set(blocks.block))})
            self.assertTrue(all(0 <= valid <= blocks.pages_per_block for valid in blocks.valid))

    def test_a_policy_is_asked_once_for_several_victims(self):
        calls = []

        def counted(blocks):
            calls.append(len(blocks.block))
            return oldest(blocks)

        boardlab.life("sd-life", set=ALONE, policies={POLICY: Batch(counted, 1)})
        one, calls[:] = len(calls), []
        boardlab.life("sd-life", set=ALONE, policies={POLICY: counted})
        self.assertLess(len(calls) * 8, one)

    def test_what_is_no_block_ends_the_run(self):
        for wrong, says in [([], r"names \[\]"), (None, "names None"), ([2**40], "names 1099511627776"),
                            (["x"], r"names \['x'\]"), (lambda: 1, "names <function")]:
            with self.subTest(says), self.assertRaisesRegex(boardlab.InputError, says):
                boardlab.life("sd-life", set=ALONE, policies={POLICY: lambda seen, wrong=wrong: wrong})

    def test_a_policy_that_frees_nothing_ends_the_run(self):
        def fullest(seen):
            return [block for _, block in sorted(zip(seen.valid, seen.block))][-1:]

        def full_ones_first(seen):
            return fullest(seen) * 16 + oldest(seen)

        for policy in fullest, full_ones_first:
            with self.subTest(policy), self.assertRaisesRegex(boardlab.InputError, "only blocks without a stale page"):
                boardlab.run("sd-wear", policies={POLICY: policy})

    def test_a_policy_that_is_never_asked_is_told(self):
        with self.assertWarnsRegex(UserWarning, f"the policy oldest for {POLICY} was never asked"):
            boardlab.run("card-fio", policies={POLICY: oldest})


if __name__ == "__main__":
    unittest.main()
