"""Notebooks: executes them in a kernel of their own, reads what they show, and strips it.

usage: python python/tests/notebooks.py NOTEBOOK...

strips notebooks of what a run leaves in them, as the repository keeps them. Needs nbformat.
"""
import contextlib
import glob
import json
import os
import sys
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.environ.get("BOARDLAB_EXAMPLES") or os.path.join(os.path.dirname(HERE), "examples")
VEGA_LITE = "application/vnd.vegalite.v6+json"
KERNEL = "boardlab-tests"
SECONDS_MAX = 300
#: What any notebook needs to open; editors add their versions, which change from machine to machine.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def stripped(text):
    """A notebook without outputs, counts and what editors remember, in the form that Jupyter writes."""
    import nbformat

    notebook = nbformat.reads(text, as_version=4)
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nbformat.writes(notebook) + "\n"


def strip(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = stripped(file.read())
        beside = f"{path}.{os.getpid()}.part"
        with open(beside, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)


def all_paths():
    return sorted(glob.glob(os.path.join(EXAMPLES, "*.ipynb")))


@contextlib.contextmanager
def kernels(folder):
    """Lets Jupyter know the interpreter of the tests as a kernel, and write into `folder` alone."""
    kernel = os.path.join(folder, "data", "kernels", KERNEL)
    os.makedirs(kernel)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    with open(os.path.join(kernel, "kernel.json"), "w", encoding="utf-8") as file:
        json.dump({"argv": command, "display_name": KERNEL, "language": "python"}, file)
    places = {"JUPYTER_DATA_DIR": "data", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime",
              "IPYTHONDIR": "ipython", "HOME": "home"}
    with mock.patch.dict(os.environ, {name: os.path.join(folder, place) for name, place in places.items()}):
        yield


def executed(name, folder, sizes):
    """The notebook after a run in `folder` with the sizes that `sizes` gives it."""
    import nbclient
    import nbformat
    from traitlets.config import Config

    notebook = nbformat.read(os.path.join(EXAMPLES, name), as_version=4)
    # Sockets in the folder instead of ports, which somebody else may have.
    socket = {"transport": "ipc", "ip": os.path.join(folder, "kernel")}
    client = nbclient.NotebookClient(
        notebook, timeout=SECONDS_MAX, kernel_name=KERNEL, resources={"metadata": {"path": folder}},
        config=Config(KernelManager=socket),
    )
    with kernels(folder), mock.patch.dict(os.environ, sizes):
        return client.execute()


def outputs(notebook):
    """The data of all outputs by type, in order; what is printed is `text/plain`."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            yield {"text/plain": output.text} if output.output_type == "stream" else output.data


def specs(notebook):
    return [data[VEGA_LITE] for data in outputs(notebook) if VEGA_LITE in data]


def layers(spec):
    """Each layer of a chart: its mark, the fields that it shows, and its rows, which may be those of the chart."""
    for layer in spec.get("layer", [spec]):
        rows = layer.get("data", spec.get("data", {})).get("values", [])
        shown = [channel["field"] for channel in layer["encoding"].values() if "field" in channel]
        yield layer.get("mark"), shown, rows


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.split("\n\n")[1])
    strip(sys.argv[1:])
