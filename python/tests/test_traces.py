"""Workloads written in Python: the trace is what the requests say, and what cannot be a request is told."""
import itertools
import os
import tempfile
import unittest

import boardlab
import polars
from boardlab import traces
from boardlab.traces import Requests

CARD = {"part.capacity": "1 GiB", "life.cards": 1, "what_if.cards": 0, "workload.kind": "trace"}

HAND_MADE = """\
  8,0    3       11     0.009507758   697  D   R 0 + 1 [dd]
  8,0    3       12     0.009507758   697  D   W 8 + 16 [dd]
  8,0    3       13     1.500000002   697  D   D 1048576 + 8 [dd]
  8,0    3       14     1.500000002   697  D  FN [dd]
  8,0    3       15    86400.000000000   697  D   W 24 + 8 [dd]
"""
BATCHES = [
    Requests([9_507_758] * 2, ["read", "write"], [0, 4_096], [512, 8_192]),
    Requests([1_500_000_002], "discard", 2**29, 4_096),
    Requests([1_500_000_002], "flush", 0, 0),
    Requests([86_400 * 10**9], "write", 12_288, 4_096),
]


class Traces(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "own.trace")

    def life(self, path):
        return boardlab.life("sd-life", set={**CARD, "trace.file": path})

    def test_a_generator_gives_the_life_of_the_trace_that_it_says(self):
        self.assertEqual(traces.write(self.path, iter(BATCHES)), 5)
        by_hand = os.path.join(self.folder, "hand.trace")
        with open(by_hand, "w", encoding="ascii") as file:
            file.write(HAND_MADE)
        own, hand = self.life(self.path), self.life(by_hand)
        self.assertEqual([str(table.rows) for table in own.tables], [str(table.rows) for table in hand.tables])
        with open(self.path, encoding="ascii") as own, open(by_hand, encoding="ascii") as hand:
            for mine, other in itertools.zip_longest(own, hand):
                # All but processor, sequence and process.
                fields = [[line.split()[at] for at in (0, 3, 5, 6)] + line.split()[7:-1] for line in (mine, other)]
                self.assertEqual(*fields)

    def test_frames_and_arrays_give_the_same_bytes(self):
        traces.write(self.path, BATCHES)
        with open(self.path, "rb") as file:
            expected = file.read()
        frame = polars.DataFrame({
            "time_ns": [9_507_758, 9_507_758, 1_500_000_002, 1_500_000_002, 86_400 * 10**9],
            "operation": ["read", "write", "discard", "flush", "write"],
            "offset_bytes": [0, 4_096, 2**29, 0, 12_288],
            "size_bytes": [512, 8_192, 4_096, 0, 4_096],
        })
        for batches in ([frame], [frame.head(3), frame.tail(2)]):
            traces.write(self.path, batches)
            with open(self.path, "rb") as file:
                self.assertEqual(file.read(), expected)

    def test_a_path_that_cannot_be_written_is_named_as_it_was_given(self):
        for path in (os.path.join(self.folder, "none", "own.trace"), self.folder):
            with self.subTest(path), self.assertRaises(OSError) as raised:
                traces.write(path, BATCHES)
            self.assertEqual(raised.exception.filename, path)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_is_no_request_is_told_and_leaves_the_file_as_it_was(self):
        with open(self.path, "w") as file:
            file.write("mine")
        good = Requests([5], "write", 0, 512)
        for wrong, says in [
            (Requests([4], "write", 0, 512), "request 2: time_ns is 4"),
            (Requests([-1], "write", 0, 512), "request 2: time_ns is -1"),
            (Requests([5.5], "write", 0, 512), "request 2: time_ns is 5.5"),
            (Requests([True], "write", 0, 512), "request 2: time_ns is True"),
            (Requests([5, 6], ["write", "trim"], 0, 512), "request 3: operation is 'trim'"),
            (Requests([5], None, 0, 512), "request 2: operation is None"),
            (Requests([5], "write", 511, 512), "request 2: offset_bytes is 511"),
            (Requests([5], "write", 0, 4_095), "request 2: size_bytes is 4095"),
            (Requests([5], "write", 0, 0), "request 2: size_bytes is 0"),
            (Requests([5], "flush", 0, 512), "request 2: size_bytes is 512"),
            (Requests([5], "write", 2**63, 512), "request 2: offset_bytes is 9223372036854775808"),
            (Requests([5, 6], "write", [0, 1, 2], 512), "request 2: offset_bytes is '3 values'"),
            (7, "request 2: the batch is 'int'"),
            (polars.DataFrame({"time_ns": [5]}), "request 2: operation is 'DataFrame'"),
        ]:
            with self.subTest(says), self.assertRaises(boardlab.InputError) as caught:
                traces.write(self.path, [good, wrong])
            self.assertIn(says, str(caught.exception))
        for nothing, says in [([], "no requests"), (3, "the generator is 3")]:
            with self.subTest(says), self.assertRaisesRegex(boardlab.InputError, says):
                traces.write(self.path, nothing)

        def breaks():
            yield good
            raise KeyError("the reason")

        with self.assertRaisesRegex(KeyError, "the reason"):
            traces.write(self.path, breaks())
        with open(self.path) as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(os.listdir(self.folder), ["own.trace"])


if __name__ == "__main__":
    unittest.main()
