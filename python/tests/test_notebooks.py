"""The notebooks: each runs in a kernel, small, and its answer has the figures of runs of this file."""
import ast
import json
import math
import os
import re
import shutil
import tempfile
import unittest

import boardlab
import notebooks


class Notebooks(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="boardlab-notebook-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_small(self, name, **sizes):
        """The last text of a notebook, the answer, and its charts, of which each is checked."""
        notebook = notebooks.executed(name, self.folder, {f"BOARDLAB_{key}": value for key, value in sizes.items()})
        charts = notebooks.specs(notebook)
        self.assertTrue(charts, f"{name} draws nothing")
        for chart in charts:
            self.assertTrue(chart["$schema"].endswith("/v6.json"), chart["$schema"])
            for mark, shown, rows in notebooks.layers(chart):
                self.assertTrue(mark, chart)
                for field in shown:
                    self.assertTrue(rows, f"{name} has no data for {field}")
                    self.assertTrue(all(field in row for row in rows), f"{name} has no field {field}: {rows[0]}")
        return list(notebooks.outputs(notebook))[-1]["text/plain"], charts

    def test_choose_a_wait(self):
        answer, charts = self.run_small("choose-a-wait.ipynb", BYTES="256 KiB", STEP_US="100")

        def total_s(wait):
            run = boardlab.run("nor-write", set={"workload.bytes": "256 KiB", "linux.wait": wait})
            return run.tables["table5"]["total", "total_ns"].value / 1e9

        released, tuned = total_s("word-time"), total_s("tuned")
        self.assertIn(f"{tuned:.4g} s, {100 * (1 - tuned / released):.1f} % less than the {released:.4g} s", answer)
        rows = charts[0]["layer"][0]["data"]["values"]
        self.assertEqual([row["udelay_us"] for row in rows], [0, 100, 200, 300])
        self.assertEqual(rows[3]["total_s"], total_s("300 us"))

    def test_lifetimes(self):
        answer, charts = self.run_small("lifetimes.ipynb", CARDS="15")
        card = {
            "pattern.bytes_a_day": "100 MB", "part.capacity": "1 GiB", "life.cards": 1, "life.method": "scaled",
            "what_if.cards": 0, "part.endurance.pe_cycles": [1000, 2500, 3000, 3500, 5000],
        }
        shortest, medians = {}, []
        for percent in (7, 8, 10, 12, 14):
            settings = {**card, "part.over_provisioning": f"{percent} %"}
            runs = [boardlab.run("sd-life", set=settings, seed=seed) for seed in range(1, 4)]
            lives = sorted(run.tables["life"]["end", "years_50"].value for run in runs)
            # Of three cards, the fifth percentile is the shortest life.
            shortest[percent] = lives[0]
            medians.append(lives[1])
        enough = next(percent for percent, life in shortest.items() if life >= 2)
        self.assertIn(f"An over-provisioning of {enough} % is enough", answer)
        self.assertIn(f"live for {shortest[enough]:.3g} years or longer", answer)
        self.assertEqual([row["median_years"] for row in charts[0]["data"]["values"]], medians)
        bands = [layer["encoding"] for layer in charts[0]["layer"] if layer["mark"]["type"] == "area"]
        self.assertEqual([(band["y"]["field"], band["y2"]["field"]) for band in bands],
                         [("p5_years", "p95_years"), ("p25_years", "p75_years")])
        self.assertEqual(len(charts), 2)

    def test_filesystem_grid(self):
        answer, charts = self.run_small("filesystem-grid.ipynb", FLASH_MIB="8", PAGES="2048 8192")
        settings = {
            "part.geometry.blocks": 64, "part.geometry.page": "8 KiB", "part.geometry.pages_per_block": 16,
            "part.geometry.oob": "256 B", "systems": ["yaffs2", "ubifs"], "tiobench.data": ["random"],
            "tiobench.size": "2 MiB", "compare.chips": ["8 MiB"], "compare.readings": False,
            "compare.files": ["64 KiB"], "compare.levels": ["0 %"], "compare.data": ["zero"],
        }
        row = boardlab.run("nand-filesystems", set=settings).tables["table3.3"]["sequential_write"]
        rates = {system: row[system].value / 1e6 for system in ("yaffs2", "ubifs")}
        best = max(rates, key=rates.get)
        last = next(line for line in answer.splitlines() if line.startswith("Fastest writes of random data: "))
        self.assertTrue(last.endswith(f", {best} with pages of 8192 B ({rates[best]:.4g} MB/s)."), last)
        rows = charts[0]["data"]["values"]
        self.assertEqual(len(rows), 3 * (4 + 3))
        found = [one["write_mb_per_s"] for one in rows if (one["page_bytes"], one["data"]) == (8192, "random")]
        self.assertEqual(found[1:], [rates["yaffs2"], rates["ubifs"]])

    def test_sata_turnaround(self):
        answer, charts = self.run_small("sata-turnaround.ipynb", LATENCIES="1 32", FRAMES_KIB="2")
        settings = {"continuous.loops": [1], "sweep.part": 2048, "what_if.volume": "32 MiB",
                    "drives.intel-x25-e.controller.frame": "2 KiB"}
        rates = []
        for latency in (1, 32):
            run = boardlab.run("sata-ssd", set={**settings, "board.sata_host.latency": latency})
            rates.append(run.tables["table5-1"]["1", "read"].value / 1e6)
        self.assertIn(f"With frames of 2 KiB, 31 more dwords of latency cost {100 * (1 - rates[1] / rates[0]):.1f} %"
                      f" of the rate ({rates[0]:.4g} to {rates[1]:.4g} MB/s)", answer)
        # docs/models/sata-link.md: three round trips for each frame.
        self.assertIn("the time of 3.0 dwords", answer)
        last = charts[0]["data"]["values"][-1]
        self.assertTrue(math.isclose(last["read_mb_per_s"], rates[1]), last)

    def test_notebooks_are_kept_without_what_a_run_leaves(self):
        self.assertGreaterEqual(len(notebooks.all_paths()), 4)
        for path in notebooks.all_paths():
            with open(path, encoding="utf-8") as file:
                text = file.read()
            known = json.loads(text)
            self.assertGreaterEqual((known["nbformat"], known["nbformat_minor"]), (4, 5), path)
            names = [cell["id"] for cell in known["cells"]]
            self.assertEqual(len(set(names)), len(names), path)
            advice = f"run: python python/tests/notebooks.py {os.path.relpath(path)}"
            self.assertTrue(text == notebooks.stripped(text), advice)

    def test_every_notebook_is_run_and_on_the_page(self):
        page = os.path.join(notebooks.HERE, "..", "..", "docs", "tasks", "use-boardlab-from-python.md")
        for text in (page, __file__):
            with open(text, encoding="utf-8") as file:
                named = set(re.findall(r"([\w-]+\.ipynb)[\")]", file.read()))
            self.assertEqual(named, {os.path.basename(path) for path in notebooks.all_paths()}, text)

    def test_notebooks_use_public_names_alone(self):
        for path in notebooks.all_paths():
            with open(path, encoding="utf-8") as file:
                cells = json.load(file)["cells"]
            code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
            for node in ast.walk(ast.parse(code, path)):
                if isinstance(node, ast.Import):
                    self.assertLessEqual({name.name for name in node.names}, {"os", "boardlab", "polars"}, path)
                if isinstance(node, ast.ImportFrom):
                    found = (node.module, [name.name for name in node.names])
                    self.assertEqual(found, ("boardlab", ["fleet"]), path)
                if isinstance(node, ast.Attribute):
                    self.assertFalse(node.attr.startswith("_"), f"{path}: {node.attr}")


if __name__ == "__main__":
    unittest.main()
