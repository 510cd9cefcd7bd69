"""Beside ubi_reader: images of UBIFS in UBI, made by the mtd-utils, extracted by both."""
import struct

import images
from extract import Extraction
from measure import run

TOOLS = {"mkfs.ubifs": "Debian's mtd-utils", "ubinize": "Debian's mtd-utils"}
PYTHON = {"ubireader_extract_files": "ubi_reader==0.8.16"}
VOLUME = """[volume]
mode=ubi
image=tree.ubifs
vol_id=0
vol_type=dynamic
vol_name=root
vol_flags=autoresize
"""
MAGIC, DATA = struct.pack("<I", 0x06101831), 1
# Bytes of a data node before its data.
DATA_HEADER = 48


def version(context):
    return context.python_version("ubi-reader")


def ubifs(context, tree, compressor="lzo"):
    """The bytes of an image of one volume that holds the tree."""
    folder = context.folder
    run("mkfs.ubifs", "-r", tree, "-m", images.PAGE, "-e", images.BLOCK - 2 * images.PAGE, "-c", 4000, "-x", compressor,
        "-o", "tree.ubifs", folder=folder)
    (folder / "volume.ini").write_text(VOLUME)
    run("ubinize", "-o", "tree.ubi", "-m", images.PAGE, "-p", "128KiB", "volume.ini", folder=folder)
    return (folder / "tree.ubi").read_bytes()


def large_data(image):
    """The offset of a data node with a kibibyte of data or more."""
    at = -1
    while (at := image.index(MAGIC, at + 1)) >= 0:
        length, kind = struct.unpack_from("<IB", image, at + 16)
        if kind == DATA and length > DATA_HEADER + 1024:
            return at


def cases(context, tree):
    """Name, image, and the tree that it holds."""
    for compressor in "lzo", "zlib", "zstd", "none":
        image = ubifs(context, tree, compressor)
        yield compressor, image, tree
    yield "a bit of data changed", images.flip(image, large_data(image) + DATA_HEADER + 432), tree
    yield "a NAND dump with OOB bytes", images.with_oob(image), tree


def compare(context):
    peer = [context.python("ubireader_extract_files"), "-o", "there"]
    extraction = Extraction(context, "ubi_reader", peer, root="there/*/root")
    extraction.compare(cases(context, images.make_tree(context.folder / "tree")))
    large = images.make_tree(context.folder / "large", folders=400)
    extraction.speed(f"{images.count(large):,} files, LZO", ubifs(context, large))
