"""Runs the tests of this folder with the package that is installed, and reports as `cargo test` does."""
import doctest
import os
import sys
import unittest

import boardlab
import boardlab.image

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ["_arguments", "_errors", "_result", "_run", "_scenario", "fleet._lives", "image", "traces"]


class Report(unittest.TestResult):
    """A line a test, failures at the end."""

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(test, "ok")

    def addError(self, test, err):
        super().addError(test, err)
        self.line(test, "FAILED")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line(test, "FAILED")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.line(subtest, "FAILED")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped: needs {reason}", file=sys.stderr)
        self.line(test, "ok")

    def line(self, test, word):
        print(f"test {test.id().replace(' ', '_')} ... {word}", flush=True)


def tests():
    suite = unittest.TestSuite()
    wanted = sys.argv[1:]
    suite.addTests(unittest.defaultTestLoader.discover(HERE, pattern="test_*.py", top_level_dir=HERE))
    for name in MODULES:
        suite.addTests(doctest.DocTestSuite(f"boardlab.{name}"))
    if wanted:
        chosen = [test for test in flat(suite) if any(word in test.id() for word in wanted)]
        suite = unittest.TestSuite(chosen)
    return suite


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def main():
    if not boardlab.__file__.startswith(sys.prefix):
        sys.exit(f"not the installed package: {boardlab.__file__}")
    suite, report = tests(), Report()
    suite.run(report)
    for test, trace in [*report.errors, *report.failures]:
        print(f"---- {test.id()}\n{trace}")
    failed = len(report.errors) + len(report.failures)
    passed = max(report.testsRun - failed, 0)
    word = "FAILED" if failed else "ok"
    print(f"test result: {word}. {passed} passed; {failed} failed; 0 ignored;")
    return 1 if failed or not report.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
