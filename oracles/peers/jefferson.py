"""Beside jefferson: images of JFFS2, whole, damaged and used, extracted by both."""
import shutil
import tempfile
from pathlib import Path

import images
from measure import Difference, Pairs, print_table, run

TOOLS = {"mkfs.jffs2": "Debian's mtd-utils"}
PYTHON = {"jefferson": "jefferson==0.4.8"}


def version(context):
    return context.python_version("jefferson")


def clear(folder):
    for name in "here", "there":
        shutil.rmtree(folder / name, ignore_errors=True)


def extracted(context, image):
    """Extracts an image with both; gives for each the folder, the exit status and what it said."""
    clear(context.folder)
    here = run(context.boardlab, "image", "extract", image, "here", "--quiet", folder=context.folder, status=None)
    there = run(context.python("jefferson"), "-d", "there", image, folder=context.folder, status=None)
    return [(context.folder / name, done.returncode, done.text + done.messages)
            for name, done in (("here", here), ("there", there))]


def cell(tree, folder, status):
    """Equal files, surplus ones, exit status."""
    equal, more = images.equal_files(tree, folder), images.surplus(tree, folder)
    return f"{equal}{f', and {more} too many' if more else ''}; status {status}"


def cases(context, tree):
    """Name, image, and the tree that it holds."""
    make = lambda *options: images.jffs2(tree, context.folder / "made.jffs2", *options)
    zlib = make("-l")
    yield "zlib", zlib, tree
    yield "zlib, big-endian", make("-b"), tree
    yield "LZO", make("-l", "-X", "lzo", "-x", "zlib", "-x", "rtime"), tree
    yield "rtime", make("-l", "-x", "zlib"), tree
    at = images.large_inode(zlib)
    yield "a bit of compressed data changed", images.flip(zlib, at + images.INODE_HEADER + 432), tree
    yield "a bit of a node's time of access changed", images.flip(zlib, at + 32), tree
    yield "a bit of a node's length changed", images.flip(zlib, at + 4), tree
    yield "a bit of a name changed", images.flip(zlib, images.dirent_of(zlib, b"f9")[0] + 41), tree
    changed = context.folder / "changed"
    yield "used: a file removed, one renamed, one shorter", images.used(zlib, tree, changed), changed
    yield "a NAND dump with OOB bytes", images.with_oob(zlib), tree


def compare(context):
    tree = images.make_tree(context.folder / "tree")
    rows = []
    for name, image, wanted in cases(context, tree):
        (context.folder / "image.jffs2").write_bytes(image)
        here, there = extracted(context, "image.jffs2")
        equal = images.equal_files(wanted, here[0])
        if equal + 1 < images.count(wanted) or (here[1] == 0) != (equal == images.count(wanted)):
            raise Difference(f"{name}: boardlab writes {equal} files as they were, with status {here[1]}")
        rows.append([name, images.count(wanted), *(cell(wanted, folder, status) for folder, status, _ in
                                                   (there, here))])
    print_table("Files written as they were", ["image", "files and links", "jefferson", "boardlab"], rows)
    speed(context)


def speed(context):
    """Both write to memory where Linux offers that: the time of a disk's filesystem varies more than their own."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name)
        large = images.make_tree(context.folder / "large", folders=200)
        images.jffs2(large, folder / "large.jffs2")
        ours = [context.boardlab, "image", "extract", "large.jffs2", "here", "--quiet"]
        theirs = [context.python("jefferson"), "-d", "there", "large.jffs2"]
        pairs = Pairs(ours, theirs, context.runs, folder, lambda: clear(folder))
        size = (folder / "large.jffs2").stat().st_size
    print_table("Processor time, whole processes", ["image", "boardlab", "jefferson", "ratio"],
                [pairs.row(f"{images.count(large):,} files, {size / 2**20:.1f} MiB, zlib")])
