"""Packs a wheel of a module that Cargo has built, for tests.

`make wheel` has maturin build the module anew, with other settings than the tests; that costs as long as all their
programs. A wheel is an archive with the files of the package, its name and version, and a list of digests (PEP 427).
"""
import base64
import hashlib
import os
import re
import sysconfig
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def version():
    with open(os.path.join(ROOT, "Cargo.toml"), encoding="utf-8") as file:
        return re.search(r'^version = "(.*)"$', file.read(), re.MULTILINE).group(1)


def files(module):
    """The files of the package: its names in the archive, and their content."""
    above = os.path.join(ROOT, "python")
    for folder, folders, names in os.walk(os.path.join(above, "boardlab")):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith((".py", ".pyi", ".typed")):
                with open(path, "rb") as file:
                    yield os.path.relpath(path, above), file.read()
    with open(module, "rb") as file:
        yield "boardlab/_boardlab.abi3.so", file.read()


def pack(module, folder):
    """Packs `module` and the package into a wheel in `folder`; returns its path."""
    tag = "cp310-abi3-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    about = f"boardlab-{version()}.dist-info"
    content = dict(files(module))
    content[f"{about}/METADATA"] = f"Metadata-Version: 2.1\nName: boardlab\nVersion: {version()}\n".encode()
    content[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = [f"{name},sha256={digest(data)},{len(data)}" for name, data in content.items()]
    content[f"{about}/RECORD"] = "\n".join([*record, f"{about}/RECORD,,", ""]).encode()
    wheel = os.path.join(folder, f"boardlab-{version()}-{tag}.whl")
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return wheel


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
