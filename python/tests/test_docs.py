"""The documentation: the examples of the task page run, and every public name says what it is."""
import contextlib
import inspect
import io
import os
import re
import unittest

import boardlab
import boardlab.fleet

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "tasks", "use-boardlab-from-python.md")


class Documents(unittest.TestCase):
    def test_the_examples_of_the_page_run_in_order(self):
        with open(PAGE, encoding="utf-8") as file:
            blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 5)
        names, printed = {}, io.StringIO()
        for block in blocks:
            with contextlib.redirect_stdout(printed):
                exec(compile(block, "use-boardlab-from-python.md", "exec"), names)
        said = printed.getvalue()
        waits = ("Linux waits 25", "'mean_ns'", "\nTrue\n", "\nMine {", "--set:1:12 170 ", "\n6 6\n", "gone.bin",
                 "linux.wait is wait, the caller's own policy", "\n3660\n")
        for expected in waits:
            self.assertIn(expected, said)

    def test_every_public_name_has_a_documentation(self):
        for owner in (boardlab, boardlab.fleet, boardlab.image, boardlab.policies, boardlab.traces):
            for name in owner.__all__:
                one = getattr(owner, name)
                if inspect.isclass(one) or inspect.isfunction(one):
                    self.assertTrue(inspect.getdoc(one), name)
        for name, one in inspect.getmembers(boardlab.Result):
            if not name.startswith("_"):
                self.assertTrue(inspect.getdoc(one), name)

    def test_the_stubs_name_what_the_module_has(self):
        from boardlab import _boardlab

        with open(os.path.join(os.path.dirname(boardlab.__file__), "_boardlab.pyi"), encoding="utf-8") as file:
            stubs = file.read()
        named = set(re.findall(r"^(?:def|class) (\w+)", stubs, re.MULTILINE))
        there = {name for name in dir(_boardlab) if not name.startswith("_")} - {"VERSION"}
        self.assertEqual(named, there)
        methods = set(re.findall(r"^    def (\w+)", stubs, re.MULTILINE))
        self.assertEqual(methods, {name for name in dir(_boardlab.Outcome) if not name.startswith("_")})
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(boardlab.__file__), "py.typed")))


if __name__ == "__main__":
    unittest.main()
