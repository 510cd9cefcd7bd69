"""What users of other tools have asked for in public, each with a dump that shows it, and what boardlab answers.

Usage: python3 oracles/peers/wishes.py [PROGRAM]

Makes every dump in a folder of its own, asks boardlab, and says whether the answer is the one that was wished for. Needs
root for FUSE only, where /dev/fuse is; without it the two cases that mount say so. docs/comparison.md has the table.
"""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

PROGRAM = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/boardlab").resolve())
FLASH = ["--page", "2KiB", "--block", "128KiB"]


def boardlab(*words, status=0):
    done = subprocess.run([PROGRAM, "image", *words], capture_output=True, check=False)
    assert done.returncode == status, (words, done.returncode, done.stdout[-600:], done.stderr)
    return done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")


def tables(*words, status=0):
    done = subprocess.run(
        [PROGRAM, "image", *words, "--format", "json"], capture_output=True, check=False
    )
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


def cell(row, column):
    return row["cells"][column]["value"]


def tree(folder):
    folder.mkdir()
    (folder / "etc").mkdir()
    (folder / "etc/motd").write_text("welcome\n")
    (folder / "bin").mkdir()
    (folder / "bin/tool").write_bytes(bytes((n * 31 >> 3) & 0xFF for n in range(200_000)))
    return str(folder)


def ubi(folder, name, *more):
    image = str(folder / name)
    source = folder / (name + ".d")
    boardlab("create", tree(source), image, *FLASH, "--max-blocks", "200", *more)
    return image


class Mounted:
    """An image on a folder."""

    def __init__(self, image, folder, *more):
        self.folder = folder
        folder.mkdir()
        self.process = subprocess.Popen(
            [PROGRAM, "image", "mount", image, str(folder), *more], stderr=subprocess.PIPE
        )
        for _ in range(200):
            if os.path.ismount(folder):
                return
            time.sleep(0.05)
        raise AssertionError(self.process.stderr.read())

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()
        subprocess.run(["umount", str(self.folder)], capture_output=True, check=False)


def journal(folder):
    """A file that is in the journal alone, as a power cut leaves it."""
    image = ubi(folder, "journal.ubi", "--pad", "120blocks")
    mounted = Mounted(image, folder / "mnt", "--rw")
    with open(folder / "mnt/late", "w", encoding="utf-8") as late:
        late.write("in the journal\n")
        late.flush()
        os.fsync(late.fileno())
    mounted.end(signal.SIGKILL)
    boardlab("apply", image, "-o", str(folder / "cut.ubi"))
    assert boardlab("cat", str(folder / "cut.ubi"), "/late") == "in the journal\n"


def spare(folder):
    """64 spare bytes after every 2 KiB, which nobody says."""
    flash = tables("info", ubi(folder, "spare.ubi", "--oob", "64"))["flash"][0]
    assert (cell(flash, "page_bytes"), cell(flash, "oob_bytes")) == (2_048, 64), flash


def flipped(folder):
    """A flipped bit in every page."""
    image = ubi(folder, "flipped.ubi", "--oob", "64", "--ecc", "4/512")
    right = pathlib.Path(image).read_bytes()
    wrong = bytearray(right)
    for page in range(0, len(right), 2_112):
        if right[page : page + 2_112] != b"\xff" * 2_112:
            wrong[page + page // 2_112 * 7 % 2_048] ^= 4
    dump = folder / "wrong.ubi"
    dump.write_bytes(wrong)
    boardlab("extract", str(dump), str(folder / "out"))
    assert (folder / "out/bin/tool").read_bytes() == (folder / "flipped.ubi.d/bin/tool").read_bytes()
    boardlab("convert", str(dump), str(folder / "mended.ubi"), "--correct")
    assert (folder / "mended.ubi").read_bytes() == right


def mount(folder):
    """A raw dump with OOB bytes, on a folder, without kernel modules."""
    image = ubi(folder, "mount.ubi", "--oob", "64")
    mounted = Mounted(image, folder / "mnt")
    read = (folder / "mnt/etc/motd").read_text(encoding="utf-8")
    mounted.end()
    assert read == "welcome\n"


def older(folder):
    """A deleted file of which the flash still has the content."""
    image = str(folder / "older.yaffs2")
    boardlab("create", tree(folder / "older.d"), image, "--fs", "yaffs2", *FLASH, "--oob", "64", "--pad", "32blocks")
    mounted = Mounted(image, folder / "mnt", "--rw", "--apply")
    (folder / "mnt/more").write_bytes(b"m" * 300_000)
    os.sync()
    (folder / "mnt/etc/motd").unlink()
    mounted.end()
    assert "/etc/motd" not in boardlab("ls", image)
    first = cell(tables("info", image)["filesystem"][0], "first_sequence")
    found = ""
    for number in range(int(first), int(first) + 8):
        done = subprocess.run(
            [PROGRAM, "image", "cat", image, "/etc/motd", "--as-of", str(number)],
            capture_output=True,
            check=False,
        )
        found = found or done.stdout.decode()
    assert found == "welcome\n"


def rebuild(folder):
    """The parameters to make the image again."""
    lines = [cell(row, "line") for row in tables("info", ubi(folder, "again.ubi"))["rebuild"]]
    ours = next(line for line in lines if line.startswith("boardlab image create"))
    words = ours.replace("DIR", str(folder / "again.ubi.d")).split()[2:]
    words = [str(folder / "made.ubi") if word.endswith(".ubi") else word for word in words]
    boardlab(*words)
    flash = [tables("info", str(folder / name))["flash"][0]["cells"] for name in ("again.ubi", "made.ubi")]
    assert flash[0] == flash[1]


def split(folder):
    """A JFFS2 behind a boot loader, with gaps of erased blocks, which others show as many or as none."""
    image = str(folder / "jffs2")
    boardlab("create", tree(folder / "jffs2.d"), image, "--fs", "jffs2", "--page", "1", "--block", "64KiB")
    blocks = pathlib.Path(image).read_bytes()
    pieces = [blocks[at : at + 65_536].ljust(65_536, b"\xff") for at in range(0, len(blocks), 65_536)]
    erased = b"\xff" * 131_072
    dump = folder / "split.bin"
    dump.write_bytes(b"\x5a" * 65_536 + erased.join(pieces) + erased)
    found = [row for row in tables("info", str(dump))["contents"] if "JFFS2" in cell(row, "kind")]
    assert len(found) == 1, found
    boardlab("extract", str(dump), str(folder / "out"))
    assert (folder / "out/bin/tool").read_bytes() == (folder / "jffs2.d/bin/tool").read_bytes()


def crc(data):
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def node(kind, body, data=b""):
    length = 12 + len(body) + len(data)
    head = struct.pack("<HHI", 0x1985, kind, length)
    whole = head + struct.pack("<I", crc(head)) + body + data
    return whole.ljust((length + 3) // 4 * 4, b"\xff")


def dirent(parent, inode, kind, name):
    body = struct.pack("<IIIIBBBB", parent, inode, inode, 0, len(name), kind, 0, 0)
    head = struct.pack("<HHI", 0x1985, 0xE001, 40 + len(name))
    body += struct.pack("<II", crc((head + struct.pack("<I", crc(head)) + body)[:32]), crc(name))
    return node(0xE001, body, name)


def inode(number, mode, data):
    body = struct.pack("<IIIHHIIIIIIIBBH", number, 1, mode, 0, 0, len(data), 0, 0, 0, 0, len(data), len(data), 0, 0, 0)
    head = struct.pack("<HHI", 0x1985, 0xE002, 68 + len(data))
    whole = head + struct.pack("<I", crc(head)) + body
    body += struct.pack("<II", crc(data), crc(whole[:60]))
    return node(0xE002, body, data)


def escape(folder):
    """A link out of the folder, and a file that is to be written through it (CVE-2023-0592, CVE-2023-0593)."""
    victim = folder / "victim"
    victim.mkdir()
    target = str(victim).encode()
    nodes = inode(2, 0o120777, target) + dirent(1, 2, 10, b"link")
    nodes += inode(3, 0o100644, b"owned") + dirent(2, 3, 8, b"file") + dirent(1, 3, 8, b"../victim/file")
    dump = folder / "escape.jffs2"
    dump.write_bytes(nodes.ljust(131_072, b"\xff"))
    boardlab("extract", str(dump), str(folder / "out"), status=1)
    assert not list(victim.iterdir()) and os.readlink(folder / "out/link") == str(victim)


def metadata(folder):
    """Owners and device nodes, which a folder of a user cannot have; and a list without an extraction."""
    table = folder / "table"
    table.write_text("/dev d 755 0 0 - - - - -\n/dev/console c 600 7 9 5 1 0 0 -\n")
    image = str(folder / "metadata.ubi")
    boardlab("create", tree(folder / "m.d"), image, *FLASH, "--max-blocks", "200", "-D", str(table))
    assert "device 5:1" in boardlab("ls", image)
    boardlab("extract", image, str(folder / "m.tar"), "--tar")
    listed = subprocess.run(["tar", "-tvf", folder / "m.tar"], capture_output=True, check=True).stdout
    assert b"crw------- 7/9" in listed and b"5,1" in listed, listed


WISHES = [
    ("replay the UBIFS journal", "ubi_reader#44", journal, True),
    ("find the spare bytes", "ubi_reader#26, #65, #31", spare, False),
    ("fix the content by its ECC", "ubi_reader#91, ubift#2, SNANDer#48", flipped, False),
    ("mount a dump without nandsim", "ubidump#10, bcm2-utils#26, bcm2-dumps#7", mount, True),
    ("older and deleted versions", "ubidump#5", older, True),
    ("parameters to rebuild it", "jefferson#26, kaitai_struct_formats#524", rebuild, False),
    ("a JFFS2 in one piece", "binwalk#431, #841, #889, #109", split, False),
    ("extract safely", "unblob#179, jefferson#36", escape, False),
    ("owners, devices, list only", "unblob#16, #327, #15", metadata, False),
]


def has_fuse():
    is_open = os.access("/dev/fuse", os.R_OK | os.W_OK)
    return is_open and (os.geteuid() == 0 or shutil.which("fusermount3") is not None)


def main():
    failed = 0
    for wish, threads, show, needs_fuse in WISHES:
        if needs_fuse and not has_fuse():
            print(f"without FUSE  {wish} ({threads})")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                show(pathlib.Path(folder))
                print(f"answered      {wish} ({threads})")
            except (AssertionError, OSError, KeyError) as problem:
                failed += 1
                print(f"NOT ANSWERED  {wish} ({threads}): {problem}")
    return 1 if failed else 0


sys.exit(main())
