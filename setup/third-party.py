#!/usr/bin/env python3
"""Prints the libraries that the program for TARGET is linked with, and the texts of their licences.

usage: setup/third-party.py TARGET [PACKAGE]

PACKAGE is boardlab-cli, or boardlab-python for the module of the wheel.

The libraries are those of `cargo tree`, without what runs at build time only. A text that several of them have is
printed once. Rust's standard library and the C library musl, which every static program has in it, come last.
"""
import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CARGO = [os.environ.get("CARGO", "cargo")]
NAMES = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([-._].*)?", re.IGNORECASE)
# Text or markup; crates may also have folders and sources of such names.
ENDINGS = re.compile(r"(?!.*\.(rs|toml|html)$)", re.IGNORECASE)
RULE = "-" * 100
# Texts of licences that were not chosen: by package, the file, and what is said instead.
NOT_CHOSEN = {
    "zstd-sys": ("zstd/COPYING", "the C library in it, zstd, is under BSD-3-Clause or GPL-2.0: boardlab takes it under BSD-3-Clause"),
}


def cargo(*arguments):
    return subprocess.run(CARGO + list(arguments), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked(target, package):
    """Name and version of each library in the program."""
    tree = cargo("tree", "--locked", "--package", package, "--target", target, "--edges", "normal,no-proc-macro",
                 "--prefix", "none", "--format", "{p}")
    return {tuple(line.split()[:2]) for line in tree.splitlines()}


def libraries(target, package):
    """The packages of others in the program, sorted, as `cargo metadata` tells of them."""
    metadata = json.loads(cargo("metadata", "--locked", "--format-version=1", "--filter-platform", target))
    wanted = linked(target, package)
    packages = [one for one in metadata["packages"] if one["source"] and (one["name"], "v" + one["version"]) in wanted]
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def texts(folder, left_out=None):
    """The texts of licences in a package, C sources that it brings included, without the file `left_out`."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if os.path.relpath(os.path.join(place, name), folder) == left_out:
                continue
            if NAMES.fullmatch(name) and ENDINGS.match(name):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    yield "\n".join(line.rstrip() for line in file.read().strip().splitlines())


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.split("\n\n")[1])
    target, package = sys.argv[1], "".join(sys.argv[2:]) or "boardlab-cli"
    packages = libraries(target, package)
    owners = collections.defaultdict(list)
    print("boardlab is linked with the libraries below. The texts of their licences follow the list; a library whose\n"
          "package brings none is under the terms that the list names.\n")
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if not package["license"]:
            sys.exit(f"third-party: {name} names no licence")
        left_out, note = NOT_CHOSEN.get(package["name"], (None, None))
        found = set(texts(os.path.dirname(package["manifest_path"]), left_out))
        note = note or ("" if found else "its package brings no text")
        print(f"{name}: {package['license']}{f' ({note})' if note else ''}")
        for text in found:
            owners[text].append(name)
    if "musl" in target:
        with open(os.path.join(ROOT, "setup", "package", "musl.txt"), encoding="utf-8") as file:
            owners[file.read().strip()].append("musl (the C library)")
        print("The standard library of Rust: MIT OR Apache-2.0; rust-standard-library.html lists its parts\n"
              "musl, the C library: MIT")
    else:
        print("The standard library of Rust: MIT OR Apache-2.0")
    for text, names in sorted(owners.items(), key=lambda item: (item[1], item[0])):
        print(f"\n{RULE}\n{', '.join(names)}\n{RULE}\n{text}")


if __name__ == "__main__":
    main()
