"""Each of some dozens of wrong inputs is one exception, with the message of the command line."""
import os
import pickle
import subprocess
import tempfile
import unittest

import bad_input
import boardlab

PROGRAM = os.environ["BOARDLAB"]


def of_program(arguments):
    """What the program says on standard error."""
    run = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    if run.returncode == 0:
        raise AssertionError(f"the program takes {arguments}")
    return run.stderr


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.before = os.getcwd()
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        for name, content in bad_input.FILES.items():
            with open(name, "wb") as file:
                file.write(content)

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.before)
        cls.folder.cleanup()

    def test_there_are_sixty_and_more(self):
        self.assertGreaterEqual(len(bad_input.CASES), 60)


def case(call, arguments):
    def test(self):
        with self.assertRaises(boardlab.Error) as raised:
            call()
        error = raised.exception
        self.assertNotIsInstance(error, boardlab.InternalError)
        self.assertEqual(str(error) + "\n", of_program(arguments))
        self.assertTrue(error.title)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.__dict__.keys()), (str(error), error.__dict__.keys()))

    return test


for name, (call, arguments) in bad_input.CASES.items():
    setattr(BadInput, "test_" + name.replace(" ", "_"), case(call, arguments))
