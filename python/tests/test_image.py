"""Flash images: made, looked at, extracted and compared as on the command line."""
import os
import subprocess
import tempfile
import unittest

import boardlab
from boardlab import image

PROGRAM = os.environ["BOARDLAB"]
FLASH = {"page": 2048, "block": 1 << 17}


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.before = os.getcwd()
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        os.makedirs("files/etc")
        for name, content in {"files/etc/hostname": b"board\n", "files/large": bytes(range(256)) * 400}.items():
            with open(name, "wb") as file:
                file.write(content)
        cls.made = image.create("files", "a.ubi", max_blocks=100, seed=3, **FLASH)

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.before)
        cls.folder.cleanup()

    def same(self, result, *words):
        """That the program prints the same, and ends with status 0 if all is whole."""
        run = subprocess.run([PROGRAM, "image", *words, "--format", "json", "--no-wall-time"], capture_output=True,
                             stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(result.json.encode(), run.stdout, run.stderr)
        self.assertEqual(result.whole, run.returncode == 0)

    def test_an_image_has_the_bytes_of_the_command_line(self):
        self.assertTrue(self.made.whole)
        words = ["image", "create", "files", "b.ubi", "--page", "2KiB", "--block", "128KiB", "--max-blocks", "100"]
        subprocess.run([PROGRAM, *words, "--seed", "3"], check=True, stdout=subprocess.DEVNULL)
        with open("a.ubi", "rb") as ours, open("b.ubi", "rb") as other:
            self.assertEqual(ours.read(), other.read())
        with self.assertRaises(FileExistsError):
            image.create("files", "a.ubi", max_blocks=100, **FLASH)
        with self.assertRaises(boardlab.ImageError):
            image.create("files", "c.ubi", **FLASH)
        self.assertFalse(os.path.exists("c.ubi"))

    def test_reports_are_those_of_the_command_line(self):
        self.same(image.info("a.ubi"), "info", "a.ubi")
        self.same(image.info("a.ubi", blocks=True), "info", "a.ubi", "--blocks")
        self.same(image.ls("a.ubi"), "ls", "a.ubi")
        self.same(image.ls("a.ubi", "/etc/*"), "ls", "a.ubi", "/etc/*")
        self.same(image.stat("a.ubi", "/etc/hostname"), "stat", "a.ubi", "/etc/hostname")
        self.same(image.check("a.ubi"), "check", "a.ubi")
        self.same(image.diff("a.ubi", "a.ubi"), "diff", "a.ubi", "a.ubi")

    def test_the_name_of_an_image_need_not_be_text(self):
        os.link("a.ubi", b"caf\xe9.ubi")
        for name in (b"caf\xe9.ubi", os.fsdecode(b"caf\xe9.ubi")):
            self.assertTrue(image.check(name).whole)
        os.unlink(b"caf\xe9.ubi")

    def test_files_come_out_as_they_went_in(self):
        told = image.extract("a.ubi", "out")
        self.assertTrue(told.whole)
        with open("out/etc/hostname", "rb") as file:
            self.assertEqual(file.read(), b"board\n")
        with self.assertRaises(boardlab.ImageError) as raised:
            image.extract("a.ubi", "out")
        self.assertEqual(raised.exception.place.file, "out")

    def test_damage_and_differences_are_told(self):
        with open("a.ubi", "rb") as file:
            content = bytearray(file.read())
        at = content.find(b"board\n")
        self.assertGreater(at, 0)
        content[at] ^= 0xFF
        with open("damaged.ubi", "wb") as file:
            file.write(content)
        self.assertFalse(image.check("damaged.ubi").whole)
        self.assertFalse(image.diff("a.ubi", "damaged.ubi").whole)
        self.same(image.check("damaged.ubi"), "check", "damaged.ubi")


if __name__ == "__main__":
    unittest.main()
