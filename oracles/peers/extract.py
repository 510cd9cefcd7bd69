"""Images that boardlab and another program extract: what comes out as it went in, and the processor time."""
import shutil
import tempfile
from pathlib import Path

import images
from measure import Difference, Pairs, print_table, run


class Extraction:
    """boardlab beside `peer`, a command that extracts the image named last into the folder `there`.

    `root` is a pattern of the folder that the peer gives the files.
    """

    def __init__(self, context, name, peer, root="there"):
        self.context, self.name, self.peer, self.root = context, name, peer, root

    def commands(self, image):
        """What extracts the image here and there."""
        return [self.context.boardlab, "image", "extract", image, "here", "--quiet"], [*self.peer, image]

    def compare(self, cases):
        """Prints a table of the cases: their name, the bytes of the image, and the tree that it holds."""
        print_table("Files written as they were", ["image", "files and links", self.name, "boardlab"],
                    [self.case(*case) for case in cases])

    def case(self, name, image, wanted):
        """A row of the table; boardlab loses a file at most, and says so."""
        folder = self.context.folder
        clear(folder)
        (folder / "image").write_bytes(image)
        here, there = (run(*command, folder=folder, status=None).returncode for command in self.commands("image"))
        equal, total = images.equal_files(wanted, folder / "here"), images.count(wanted)
        if equal + 1 < total or (here == 0) != (equal == total):
            raise Difference(f"{name}: boardlab writes {equal} files as they were, with status {here}")
        found = next(folder.glob(self.root), folder / "there")
        return [name, total, cell(wanted, found, there), cell(wanted, folder / "here", here)]

    def speed(self, name, image):
        """Prints what both take for an image and its tree.

        Both write to memory where Linux offers that: the time of a disk's filesystem varies more than their own.
        """
        memory = Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as inner:
            folder = Path(inner)
            (folder / "image").write_bytes(image)
            pairs = Pairs(*self.commands("image"), self.context.runs, folder, lambda: clear(folder))
        image = f"{name}, {len(image) / 2**20:.1f} MiB"
        print_table("Whole processes", ["image", "time", "boardlab", self.name, "ratio"],
                    [pairs.processor.row(image, "of processors"), pairs.elapsed.row(image, "from start to end")])


def clear(folder):
    for name in "here", "there":
        shutil.rmtree(folder / name, ignore_errors=True)


def cell(tree, folder, status):
    """Equal files, surplus ones, exit status."""
    equal, more = images.equal_files(tree, folder), images.surplus(tree, folder)
    return f"{equal}{f', and {more} too many' if more else ''}; status {status}"
