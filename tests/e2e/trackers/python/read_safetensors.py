"""Answers the path of a safetensors file with its tensors as numpy has them: shape, element type, values."""

import json
import sys

from safetensors import safe_open

for line in sys.stdin:
    found = {}
    with safe_open(line.strip(), "np") as file:
        metadata = file.metadata()
        for key in file.keys():
            tensor = file.get_tensor(key)
            found[key] = {
                "shape": list(tensor.shape),
                "dtype": str(tensor.dtype),
                "values": tensor.reshape(-1).tolist(),
            }
    print(json.dumps({"metadata": metadata, "tensors": found}))
