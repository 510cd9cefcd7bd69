"""Beside jefferson: images of JFFS2, whole, damaged and used, extracted by both."""
import images
from extract import Extraction

TOOLS = {"mkfs.jffs2": "Debian's mtd-utils"}
PYTHON = {"jefferson": "jefferson==0.4.8"}


def version(context):
    return context.python_version("jefferson")


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
    extraction = Extraction(context, "jefferson", [context.python("jefferson"), "-d", "there"])
    extraction.compare(cases(context, images.make_tree(context.folder / "tree")))
    large = images.make_tree(context.folder / "large", folders=200)
    extraction.speed(f"{images.count(large):,} files, zlib", images.jffs2(large, context.folder / "large.jffs2"))
