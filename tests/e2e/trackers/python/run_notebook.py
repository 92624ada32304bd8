"""Runs cells in a kernel, as Jupyter does, and prints a line with the texts of each cell.

Arguments: the kernel's name, the folder to run in, and the cells as JSON.
"""

import json
import sys

import nbformat
from nbclient import NotebookClient

kernel, folder, cells = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
options = {"kernel_name": kernel, "timeout": 240, "resources": {"metadata": {"path": folder}}}
NotebookClient(notebook, allow_errors=True, **options).execute()
texts = [
    "".join(output.get("text") or "\n".join(output.get("traceback", [])) for output in cell.outputs)
    for cell in notebook.cells
]
print(json.dumps(texts))
