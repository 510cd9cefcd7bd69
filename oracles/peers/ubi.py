"""Beside ubi_reader: an image of UBIFS in UBI, made by the mtd-utils."""
import images
from measure import Difference, print_table, run

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


def version(context):
    return context.python_version("ubi-reader")


def compare(context):
    tree = images.make_tree(context.folder / "tree")
    run("mkfs.ubifs", "-r", tree, "-m", "2048", "-e", "126976", "-c", "200", "-o", "tree.ubifs", folder=context.folder)
    (context.folder / "volume.ini").write_text(VOLUME)
    run("ubinize", "-o", "tree.ubi", "-m", "2048", "-p", "128KiB", "volume.ini", folder=context.folder)
    run(context.python("ubireader_extract_files"), "-o", "there", "tree.ubi", folder=context.folder)
    found = next((context.folder / "there").glob("*/root"), None)
    whole = images.equal_files(tree, found) if found else 0
    refused = run(context.boardlab, "image", "ls", "tree.ubi", folder=context.folder, status=2).messages
    if "UBI image" not in refused:
        raise Difference(f"boardlab does not say that this is a UBI image: {refused}")
    total = images.count(tree)
    print_table("A tree of files in UBIFS", ["", "ubi_reader", "boardlab"], [
        ["files and links written, as they were", f"{whole} of {total}", f"0 of {total}"],
        ["exit status", 0, 2], ["what it says", "the volume's folder", refused.splitlines()[0]]])
