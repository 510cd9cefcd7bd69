"""Sweeps on Dask: the bytes of one process, whatever is lost on the way."""
import glob
import math
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import boardlab
from boardlab import fleet
from boardlab.fleet import _dispatch, _job, _parts, _refine, _store
from cards import ALONE, SHORT

try:
    import distributed
except ImportError:
    distributed = None

FULL = bool(os.environ.get("BOARDLAB_FULL"))
#: A scenario whose points take milliseconds, and one whose points take some tenths of a second.
QUICK, SLOW = "nand-steps", "nor-write"
GRID = {"port.per_command": ["100 ns", "200 ns", "300 ns"], "seed": range(1, 13)}
SLOW_GRID = {"linux.wait": ["150 us", "170 us"], "seed": range(1, 13)}
SMALL = {"workload.bytes": "64 KiB"}
FIGURE = "steps/program/elapsed_ns"


def setUpModule():
    if distributed is None:
        raise RuntimeError("the tests need Dask: setup/setup.sh python")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="boardlab-fleet-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)


def two_workers():
    return distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True)


class OnWorkers(Case):
    """Tests with a cluster of two processes."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = two_workers()
        cls.client = distributed.Client(cls.cluster)
        cls.alone = boardlab.sweep(QUICK, GRID).json

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.cluster.close()

    def sweep(self, name="store", **options):
        return fleet.sweep(QUICK, GRID, self.client, store=self.path(name), **options)

    def test_batches_of_any_size_give_the_bytes_of_one_process(self):
        for batch in (None, 1, 5, 40):
            swept = self.sweep(f"of-{batch}", batch=batch)
            self.assertEqual((swept.points, swept.resumed, swept.failed), (36, 0, 0))
            self.assertEqual(swept.result().json, self.alone, batch)

    def test_a_frame_has_the_figures_with_their_types(self):
        frame = self.sweep(batch=7).frame().collect()
        self.assertEqual(frame["point"].to_list(), list(range(1, 37)))
        self.assertEqual(frame["seed"].to_list(), list(range(1, 13)) * 3)
        self.assertEqual(frame["port.per_command"][12], "200 ns")
        own = boardlab.run(QUICK, set={"port.per_command": "200 ns"}, seed=1)
        self.assertEqual(frame[FIGURE][12], own.tables["steps"]["program", "elapsed_ns"].value)
        self.assertTrue(str(frame.schema[FIGURE]).startswith("Int"))
        self.assertEqual(frame["failure"].null_count(), 36)

    def test_what_has_run_is_not_run_again_and_damage_is_seen(self):
        first = self.sweep(batch=4)
        parts = first.store.parts()
        self.assertEqual(len(parts), 9)
        for part in (parts[2], parts[7]):
            os.unlink(part.path)
        told = []
        again = self.sweep(progress=lambda done, total, label: told.append((done, total)))
        self.assertEqual((again.resumed, again.batch), (28, 4))
        self.assertEqual(told, [(32, 36), (36, 36)])
        self.assertEqual(again.result().json, self.alone)
        self.assertEqual([one.path for one in again.store.parts()], [one.path for one in parts])
        with open(parts[5].path, "r+b") as file:
            file.seek(200)
            byte = file.read(1)
            file.seek(200)
            file.write(bytes([byte[0] ^ 1]))
        with self.assertRaises(boardlab.InputError) as raised:
            again.result()
        self.assertIn("is damaged: its checksum is", str(raised.exception))
        self.assertEqual(again.store.verify(), [os.path.basename(parts[5].path)])
        self.assertEqual(self.sweep().result().json, self.alone)

    def test_a_part_that_is_missing_is_named(self):
        swept = self.sweep(batch=6)
        os.unlink(swept.store.parts()[1].path)
        with self.assertRaises(boardlab.InputError) as raised:
            swept.result()
        self.assertIn("the line of point 7 is missing", str(raised.exception))

    def test_workers_that_do_not_see_the_store_hand_their_points_back(self):
        seen = _dispatch._is_shared
        self.addCleanup(setattr, _dispatch, "_is_shared", seen)
        _dispatch._is_shared = lambda client, store: False
        swept = self.sweep(batch=5)
        self.assertEqual(swept.result().json, self.alone)
        self.assertEqual(glob.glob(self.path("store/parts/*.tmp")), [])

    def test_points_that_fail_say_why_and_the_others_run(self):
        swept = fleet.powercut(QUICK, {"seed": [1, 2]}, self.client, store=self.path("cut"))
        self.assertEqual(swept.failed, 2)
        failure = swept.frame().collect()["failure"]
        self.assertIn("powercut", failure[0])

    def test_what_a_worker_cannot_know_is_told(self):
        job = _job.Job.plan(QUICK, GRID, None, 1, "run")
        other = _job.Job(**{**job.__dict__, "version": "0.0.1"})
        future = self.client.submit(_job.run_batch, other, 0, None, pure=False)
        with self.assertRaises(boardlab.InputError) as raised:
            future.result()
        self.assertIn("versions give other figures", raised.exception.help)

    def test_workers_that_are_killed_lose_their_batches_alone(self):
        alone = boardlab.sweep(SLOW, SLOW_GRID, set=SMALL).json
        kills = 0
        for moment in range(20 if FULL else 2):
            # Each time a cluster of its own: a nanny of Dask does not start every worker again that is killed.
            with two_workers() as cluster, distributed.Client(cluster) as client:
                chance = random.Random(moment)
                stop = threading.Event()

                def killer(pids, wait_s):
                    nonlocal kills
                    if not stop.wait(wait_s):
                        os.kill(chance.choice(pids), signal.SIGKILL)
                        kills += 1

                pids = list(client.run(os.getpid).values())
                thread = threading.Thread(target=killer, args=(pids, chance.uniform(0.01, 1.0)))
                thread.start()
                try:
                    swept = fleet.sweep(SLOW, SLOW_GRID, client, set=SMALL,
                                        store=self.path(f"killed-{moment}"), batch=2, retries=20)
                finally:
                    stop.set()
                    thread.join()
                self.assertEqual(swept.result().json, alone, moment)
        self.assertGreater(kills, 0)

    def test_lives_end_with_the_precision_that_was_asked_for(self):
        told = fleet.lives("sd-life", 40, self.client, set=SHORT, store=self.path("lives"))
        self.assertEqual(len(told), 40)
        alone = boardlab.run("sd-life", set=ALONE, seed=7)
        years = alone.tables["life"]["end", "years_50"].value
        self.assertEqual(told.sweeps[0].frame().collect()["life/end/years_50"][6], years)
        precise = fleet.lives("sd-life", 400, self.client, set=SHORT, precision=0.5,
                              store=self.path("precise"))
        self.assertEqual(len(precise), 100)
        self.assertLessEqual(precise.quantile(0.5).precision, 0.5)
        self.assertEqual(precise.chart()["layer"][1]["mark"]["interpolate"], "step-after")

    def test_a_key_is_refined_where_the_figure_changes(self):
        found = fleet.refine(QUICK, "port.per_command", [0, 1_000, 2_000, 100_000], FIGURE, self.client,
                             unit=" ns", change=0.2, step=500, store=self.path("refined"))
        values = [value for value, _ in found.points]
        self.assertGreater(len(found.sweeps), 1)
        self.assertEqual(values, sorted(values))
        figures = dict(found.points)
        span = max(figures.values()) - min(figures.values())
        for low, high in zip(values, values[1:]):
            jump = abs(figures[low] - figures[high]) > 0.2 * span
            self.assertFalse(jump and high - low > 500, (low, high))

    def test_the_cost_of_handing_out_is_measured(self):
        overhead = fleet.measure(self.client, tasks=200)
        for seconds in (overhead.task_s, overhead.latency_s, overhead.batch_s):
            self.assertTrue(0 < seconds < 1, overhead)


class Alone(Case):
    """Tests without a cluster."""

    def test_a_million_points_are_planned_in_constant_memory(self):
        _job.Job.plan("block-steps", {"seed": range(1, 100)}, None, 1, "run")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        job = _job.Job.plan("block-steps", {"seed": range(0, 1_000_000)}, None, 1, "run")
        store = _store.Store.open(self.path("million"), _job.Job(**{**job.__dict__, "batch": 10}))
        self.assertEqual(sum(1 for _ in store.missing()), 100_000)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 20_000, f"{grown} KiB")
        with self.assertRaises(boardlab.InputError):
            store.result()

    def test_equal_batches_are_equal_files(self):
        job = _job.Job.plan(QUICK, GRID, None, 1, "run")
        job = _job.Job(**{**job.__dict__, "batch": 4})
        first = _job.run_batch(job, 3, None)
        again = _job.run_batch(job, 3, None)
        self.assertEqual(first.part, again.part)
        self.assertEqual((first.points, first.failed), (4, 0))

    def test_a_store_is_that_of_one_sweep(self):
        plan = lambda **more: _job.Job.plan(SLOW, more.get("grid", SLOW_GRID), SMALL,
                                            more.get("seed", 1), more.get("action", "run"))
        _store.Store.open(self.path("one"), plan())
        for other, key in [(plan(seed=2), "seed"), (plan(action="tune"), "action"),
                           (plan(grid={"seed": range(1, 9)}), "grid")]:
            with self.assertRaises(boardlab.InputError) as raised:
                _store.Store.open(self.path("one"), other)
            self.assertIn(f"its `{key}` is", str(raised.exception))
        about = os.path.join(self.path("one"), _store.ABOUT)
        for text in ("", "{", "[]", '{"format": 2, "batch": 1}', '{"format": 1, "batch": 0}'):
            with open(about, "w") as file:
                file.write(text)
            with self.assertRaises(boardlab.InputError) as raised:
                _store.Store.open(self.path("one"), plan())
            self.assertIn("cannot be read", str(raised.exception))
        os.makedirs(self.path("other"))
        with open(self.path("other/file"), "w"):
            pass
        with self.assertRaises(boardlab.InputError) as raised:
            _store.Store.open(self.path("other"), plan())
        self.assertIn("is no store", str(raised.exception))

    def test_wrong_arguments_are_told_before_a_cluster_starts(self):
        sweep = lambda grid=SLOW_GRID, **more: fleet.sweep(SLOW, grid, **{"store": self.path("x"), **more})
        for wrong in [
            lambda: sweep(action="walk"),
            lambda: sweep(batch=0),
            lambda: sweep(batch="many"),
            lambda: sweep(retries=-1),
            lambda: sweep(seed=-1),
            lambda: sweep(grid={}),
            lambda: sweep(grid={"linux.wiat": ["1 us"]}),
            lambda: sweep(grid={"linux.wait": ["1 us", "1 parsec"]}),
            lambda: fleet.lives("sd-life", 0),
            lambda: fleet.Lives([1.0]).quantile(1.5),
            lambda: fleet.refine("nor-write", "linux.wait", [1], "t/r/c"),
            lambda: fleet.cost(0, [1.0], fleet.Overhead(0.001, 0.001, 0.001, 0)),
        ]:
            with self.assertRaises(boardlab.InputError) as raised:
                wrong()
            self.assertTrue(raised.exception.help)
        self.assertFalse(os.path.exists(self.path("x")))

    def test_quantiles_have_the_confidence_that_they_say(self):
        chance, hits = random.Random(1), 0
        for _ in range(400):
            sample = fleet.Lives(chance.expovariate(1) for _ in range(60))
            hits += sample.quantile(0.5, 0.9).low <= math.log(2) <= sample.quantile(0.5, 0.9).high
        self.assertGreater(hits, 350)
        self.assertLess(hits, 400)
        few = fleet.Lives([1.0, 2.0, math.inf])
        self.assertEqual(few.quantile(0.5), (2.0, 0.0, math.inf))
        last = few.survival().rows()[-1]
        self.assertEqual(last[:2], (2.0, 1 / 3))

    def test_only_what_changes_is_refined(self):
        self.assertEqual(_refine._between([(0, 1.0), (8, 1.0), (16, 9.0)], 0.1, 1), [12])
        self.assertEqual(_refine._between([(0, None), (8, 1.0), (9, 9.0)], 0.1, 1), [4])
        self.assertEqual(_refine._between([(0, 1.0), (1, 9.0)], 0.1, 1), [])

    def test_more_cores_take_less_time_and_cost_more(self):
        overhead = fleet.Overhead(0.002, 0.001, 0.01, 30.0)
        costs = fleet.cost(100_000, [0.05, 0.07], overhead, cores=(1, 16, 256, 4096))
        alone = costs[0]
        self.assertAlmostEqual(alone.seconds, 30 + 100_000 * 0.06, delta=200)
        for few, many in zip(costs, costs[1:]):
            self.assertLess(many.seconds, few.seconds)
            self.assertGreater(many.core_hours, few.core_hours)
        # The scheduler is the limit of the last one: no more tasks a second than it serves.
        slow = fleet.cost(100_000, [0.0001], fleet.Overhead(0.01, 0, 0, 0), cores=(4096,), batch=1)
        self.assertAlmostEqual(slow[0].seconds, 1_000, delta=2)


class Scheduler(Case):
    """A scheduler of its own, which ends and begins again."""

    def start(self, *command):
        process = subprocess.Popen([sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def cluster(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        scheduler = self.start("dask_scheduler", "--host", address, "--no-dashboard", "--no-show")
        workers = [self.start("dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny",
                              "--death-timeout", "20") for _ in range(2)]
        return address, scheduler, workers

    def test_a_sweep_goes_on_with_another_scheduler(self):
        alone = boardlab.sweep(SLOW, SLOW_GRID, set=SMALL).json
        address, scheduler, _ = self.cluster()
        with distributed.Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)

            def told(done, total, label):
                if done >= 4:
                    scheduler.kill()

            with self.assertRaises((boardlab.RunError, OSError)):
                fleet.sweep(SLOW, SLOW_GRID, client, set=SMALL, store=self.path("store"), batch=2,
                            progress=told)
        done = fleet.Store.open(self.path("store"), _job.Job.plan(SLOW, SLOW_GRID, SMALL, 1, "run")).done
        self.assertTrue(4 <= done < 24, done)
        address, _, _ = self.cluster()
        with distributed.Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            swept = fleet.sweep(SLOW, SLOW_GRID, client, set=SMALL, store=self.path("store"))
        self.assertGreaterEqual(swept.resumed, 4)
        self.assertEqual(swept.result().json, alone)


if __name__ == "__main__":
    unittest.main()
