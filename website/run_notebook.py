"""Run the cells of a notebook in IPython, and print what each of them printed and drew.

This is what Jupyter does, without its servers. The argument is the notebook; the output is JSON:
for each code cell a text and pictures, PNG in base64. A cell that fails ends the program.
"""

import base64
import json
import sys
from typing import Any

import matplotlib
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib_inline.backend_inline import configure_inline_support


def run(shell: InteractiveShell, source: str) -> dict[str, Any]:
    """Return what a cell printed and drew."""
    with capture_output() as captured:
        result = shell.run_cell(source, store_history=True)
    if result.error_before_exec or result.error_in_exec:
        sys.exit(f"{source}\n\n{captured.stdout}\n{captured.stderr}")
    shown = [output.data for output in captured.outputs]
    pictures = [data["image/png"] for data in shown if "image/png" in data]
    return {
        "text": captured.stdout + captured.stderr,
        "pictures": [
            picture if isinstance(picture, str) else base64.b64encode(picture).decode()
            for picture in pictures
        ],
    }


def main(path: str) -> None:
    """Run a notebook."""
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    matplotlib.use("module://matplotlib_inline.backend_inline")
    shell = InteractiveShell.instance(colors="NoColor")
    configure_inline_support(shell, "inline")
    outputs = [run(shell, "".join(c["source"])) for c in cells if c["cell_type"] == "code"]
    print(json.dumps(outputs))


if __name__ == "__main__":
    main(sys.argv[1])
