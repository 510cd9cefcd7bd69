"""Results: the bytes of the command line, their types, data frames and what notebooks show."""
import copy
import json
import os
import pickle
import subprocess
import tempfile
import unittest

import boardlab
from boardlab import _html

PROGRAM = os.environ["BOARDLAB"]
SMALL = {"workload.bytes": "64 KiB"}
#: Without PYTHONPATH nothing but boardlab is installed.
BARE = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def printed(*arguments):
    """What the program prints."""
    run = subprocess.run([PROGRAM, *arguments], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert not run.stderr, run.stderr
    return run.stdout


class Evaluation(unittest.TestCase):
    """The published evaluation of NOR flash, in ten lines."""

    def test_ten_lines_give_its_figures_and_its_bytes(self):
        steps = []
        reproduction = boardlab.reproduce("nor", progress=lambda *step: steps.append(step))
        result = reproduction[0]
        table = result.tables["table5"]
        cell = table["total", "total_ns"]
        self.assertEqual((cell.printed, cell.verdict, cell.unit), ("43.2 s", "pass", "ns"))
        self.assertLess(abs(cell.value / cell.published - 1), 0.002)
        self.assertEqual(result.verdicts.get("fail", 0), 0)
        self.assertFalse(reproduction.failed)

        self.assertEqual(reproduction.json.encode(), printed("reproduce", "nor", "--format", "json", "--no-wall-time"))
        self.assertEqual(json.loads(result.json), json.loads(reproduction.json)["results"][0])
        self.assertEqual((result.scenario, result.seed), ("nor-write", 1))
        self.assertGreater(result.agreement.cells, 30)
        self.assertLess(result.agreement.median, 0.01)
        self.assertEqual(result.publication.cited_as, json.loads(result.json)["publication"]["cited_as"])
        self.assertGreater(result.wall_time_ns, 0)
        self.assertEqual(steps[-1][0], steps[-1][1])
        self.assertEqual([step[0] for step in steps], sorted(step[0] for step in steps))


class Small(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = boardlab.run("nor-write", set=SMALL, seed=7)

    def test_the_forms_are_those_of_the_command_line(self):
        typed = ["nor-write", "--set", "workload.bytes=64 KiB", "--seed", "7"]
        for form, own in [("json", self.result.json), ("csv", self.result.csv), ("table", self.result.text(100))]:
            with self.subTest(form=form):
                self.assertEqual(own.encode(), printed("run", *typed, "--format", form, "--no-wall-time"))
        tuned = boardlab.tune("nor-write", set=SMALL, seed=7)
        self.assertEqual(tuned.json.encode(), printed("tune", *typed, "--format", "json", "--no-wall-time"))

    def test_the_number_of_threads_changes_no_byte(self):
        for threads in (1, 3):
            again = boardlab.run("nor-write", set=SMALL, seed=7, threads=threads)
            self.assertEqual(again.json, self.result.json)

    def test_another_seed_and_the_settings_change_it(self):
        self.assertNotEqual(boardlab.run("nor-write", set=SMALL, seed=8).json, self.result.json)
        slow = boardlab.run("nor-write", set={**SMALL, "linux": {"wait": "300 us"}}, seed=7)
        self.assertGreater(slow.tables["table5"]["L-7", "mean_ns"].value, 290_000)

    def test_a_result_is_saved_copied_and_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            self.result.save(path)
            self.assertEqual(os.listdir(folder), ["result.json"])
            self.assertEqual(boardlab.Result.load(path), self.result)
        for again in (pickle.loads(pickle.dumps(self.result)), copy.deepcopy(self.result)):
            self.assertEqual(again.json, self.result.json)
            self.assertEqual(again.tables, self.result.tables)
        for text in ("", "[]", "{", '{"schema": 99}', '{"schema": 2}', "\x00"):
            with self.subTest(text=text), self.assertRaises(boardlab.InputError):
                boardlab.Result.from_json(text)

    def test_tables_have_rows_cells_and_units(self):
        table = self.result.tables["table5"]
        self.assertIs(table, self.result.tables[[one.id for one in self.result.tables].index("table5")])
        self.assertEqual(table["L-7"]["mean_ns"], table["L-7", "mean_ns"])
        self.assertEqual({field.name: field.unit for field in table.schema}["mean_ns"], "ns")
        for key in ("no-table", "table55"):
            with self.assertRaisesRegex(KeyError, "tables: table4, table5"):
                self.result.tables[key]
        with self.assertRaisesRegex(KeyError, "rows of table5: L-1"):
            table["no-row"]

    def test_polars_has_every_figure_and_its_type(self):
        import polars

        for table in self.result.tables:
            frame = table.to_polars()
            self.assertEqual(frame.columns, [field.name for field in table.schema])
            self.assertEqual(frame["row"].to_list(), [row.id for row in table])
            for field in table.schema:
                types = {"int": polars.Int64, "float": polars.Float64, "str": polars.String}
                self.assertEqual(frame.schema[field.name], types[field.type])
            for column in table.columns:
                cells = [row.cells[column.id].value if column.id in row else None for row in table]
                shown = frame[column.id].to_list()
                self.assertEqual([str(one) for one in shown if one is not None],
                                 [str(one) for one in cells if one is not None])

    def test_libraries_that_are_missing_are_named_with_what_installs_them(self):
        code = ("import boardlab; t = boardlab.run('nor-write', set={'workload.bytes': '64 KiB'}).tables[0]\n"
                "for f in (t.to_polars, t.to_pandas, t.to_arrow):\n"
                "    try: f()\n"
                "    except ImportError as e: print(e)\n")
        said = subprocess.run([os.sys.executable, "-c", code], env=BARE, capture_output=True, text=True, check=True)
        extras = ["boardlab[polars]", "boardlab[pandas]", "boardlab[arrow]"]
        self.assertEqual([line.split("'")[1] for line in said.stdout.splitlines()], extras)

    def test_a_notebook_shows_results_tables_and_charts(self):
        shown = self.result._repr_html_()
        for text in (self.result.title, "table5", *(table.title for table in self.result.tables)):
            self.assertIn(text.replace("'", "&#x27;") if text != "table5" else "<table>", shown)
        self.assertNotIn("<script", self.result.tables[0]._repr_html_())
        charts = self.result.charts
        self.assertEqual([chart.id for chart in charts][: len(self.chart_ids())], self.chart_ids())
        for chart in charts:
            bundle = chart._repr_mimebundle_()
            spec = bundle[_html.VEGA_LITE]
            self.assertIn("/v6.json", spec["$schema"])
            self.assertGreater(spec["width"], 0)
            self.assertNotIn("width", chart.spec)
            json.dumps(spec, allow_nan=False)

    def chart_ids(self):
        return [chart["id"] for chart in json.loads(self.result.json)["charts"]]

    def test_what_is_shown_is_escaped(self):
        shown = boardlab.run("nor-write", set={**SMALL, "title": "<script>x</script>"})._repr_html_()
        self.assertIn("&lt;script&gt;x", shown)
        self.assertNotIn("<script", shown)


class Scenarios(unittest.TestCase):
    def test_a_scenario_of_a_text_or_a_file_is_that_of_its_name(self):
        by_name = boardlab.run("nor-write", set=SMALL)
        loaded = boardlab.Scenario.load("nor").set(SMALL)
        self.assertEqual(boardlab.run(loaded).json, by_name.json)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "nor-write.toml")
            with open(path, "w") as file:
                file.write(loaded.toml)
            own = boardlab.Scenario.load(path).set(SMALL)
            os.unlink(path)
            self.assertEqual(boardlab.run(own).json, by_name.json)
            self.assertEqual(pickle.loads(pickle.dumps(own)), own)
        text = boardlab.Scenario.from_toml(loaded.toml, name="nor-write.toml")
        self.assertEqual(boardlab.run(text, set=SMALL).json, by_name.json)
        small = ["seed=1,2"]
        swept = boardlab.sweep(text, small, set=SMALL)
        self.assertEqual(swept.json, boardlab.sweep("nor-write", small, set=SMALL).json)

    def test_setting_a_value_gives_another_scenario(self):
        first = boardlab.Scenario.load("nor-write")
        second = first.set("board.bus.chips", 2)
        self.assertEqual((first.settings, second.settings), ((), ("board.bus.chips=2",)))
        self.assertNotEqual(first, second)
        with self.assertRaises(boardlab.InputError) as raised:
            second.set("board.bus.chips", 99)
        self.assertEqual(raised.exception.place, ("--set", 1, 17))
        self.assertEqual(raised.exception.found, "99")
        self.assertIn("1", raised.exception.expected)
        with self.assertRaises(TypeError):
            boardlab.Scenario("nor-write")

    def test_several_errors_are_in_one(self):
        with self.assertRaises(boardlab.InputError) as raised:
            boardlab.run("nor-write", set={"linux.wait": "5", "workload.bytes": "much"})
        self.assertEqual(len(raised.exception.errors), 2)
        self.assertEqual({type(one) for one in raised.exception.errors}, {boardlab.InputError})

    def test_the_keys_are_those_of_the_list(self):
        for scenario in boardlab.scenarios():
            with self.subTest(scenario=scenario.name):
                keys = scenario.keys()
                listed = json.loads(printed("list", "keys", scenario.name, "--format", "json"))
                rows = {row["id"]: row for table in listed["tables"] for row in table["rows"]}
                self.assertEqual(keys.keys(), rows.keys())
                for name, key in keys.items():
                    self.assertEqual(key.range, rows[name]["cells"]["holds"]["value"])
        wait = boardlab.Scenario.load("nor-write").keys()["tune.step"]
        self.assertIn("us", wait.unit)

    def test_parts_and_boards_are_those_of_the_list(self):
        listed = json.loads(printed("list", "--format", "json"))
        rows = {table["id"]: [row["id"] for row in table["rows"]] for table in listed["tables"]}
        self.assertEqual([part.name for part in boardlab.parts()], rows["parts"])
        self.assertEqual([board.name for board in boardlab.boards()], rows["boards"])
        self.assertEqual([one.name for one in boardlab.scenarios()], rows["scenarios"])
        part = boardlab.Part.load("m29ew")
        self.assertEqual((part.kind, part["limits.endurance"].origin), ("nor", "datasheet"))
        self.assertIn("nor-write", part.uses)
        self.assertEqual(pickle.loads(pickle.dumps(part)), part)
        used = boardlab.run("nor-write", set={**SMALL, "part": part})
        self.assertEqual(used.json, boardlab.run("nor-write", set={**SMALL, "part": "m29ew"}).json)
        with self.assertRaises(boardlab.InputError):
            boardlab.parts("tape")
        with self.assertRaises(boardlab.InputError):
            boardlab.Board.load("m29ew")


class Sweeps(unittest.TestCase):
    GRID = {"linux.wait": ["170 us", "sleep 150 us"], "seed": range(1, 3)}

    def test_a_sweep_is_that_of_the_command_line_and_resumes_its_journal(self):
        typed = ["--grid", "linux.wait=170 us,sleep 150 us", "--grid", "seed=1..2"]
        words = ["sweep", "nor-write", "--set", "workload.bytes=64 KiB", *typed, "--format", "json"]
        swept = boardlab.sweep("nor-write", self.GRID, set=SMALL)
        self.assertEqual(swept.json.encode(), printed(*words, "--no-wall-time"))
        self.assertEqual((swept.points, swept.resumed), (4, 0))
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "new", "sweep")
            first = boardlab.sweep("nor-write", self.GRID, set=SMALL, out=out, threads=1)
            self.assertEqual(sorted(os.listdir(out)), ["result.json", "sweep.journal"])
            journal = os.path.join(out, "sweep.journal")
            with open(journal) as file:
                lines = file.readlines()
            with open(journal, "w") as file:
                file.writelines([*lines[:2], lines[2][:20]])
            with self.assertWarnsRegex(UserWarning, "is not whole"):
                again = boardlab.sweep("nor-write", self.GRID, set=SMALL, out=out)
            self.assertEqual((again.resumed, again.json), (1, first.json))
            self.assertEqual(first.json, swept.json)
            with self.assertRaises(boardlab.InputError):
                boardlab.sweep("nor-write", {"seed": [1, 2]}, set=SMALL, out=out)
            boardlab.sweep("nor-write", {"seed": [1, 2]}, set=SMALL, out=out, restart=True)

    def test_a_sweep_that_was_ended_keeps_its_points(self):
        class Enough(Exception):
            pass

        def stop(done, total, label):
            if done == 2:
                raise Enough

        grid = {"seed": range(1, 7)}
        with tempfile.TemporaryDirectory() as out:
            with self.assertRaises(Enough):
                boardlab.sweep("nor-write", grid, set=SMALL, out=out, threads=1, progress=stop)
            resumed = boardlab.sweep("nor-write", grid, set=SMALL, out=out)
            self.assertGreaterEqual(resumed.resumed, 2)
            self.assertEqual(resumed.json, boardlab.sweep("nor-write", grid, set=SMALL).json)

    def test_values_of_a_grid_keep_their_commas_and_dots(self):
        from boardlab import _arguments

        axes = _arguments.axes({"a": ["x, y", "1..2", "z"], "b": [1, 2.5, True], "c": range(3, 5), "d": "p,q"})
        self.assertEqual(axes, ['a="x, y","1..2",z', "b=1,2.5,true", "c=3..4", "d=p,q"])


if __name__ == "__main__":
    unittest.main()
