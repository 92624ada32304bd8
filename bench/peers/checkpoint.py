"""Saves and loads a run with PyTorch + Accelerate, on one rank: `python checkpoint.py job.json`.

Each line of standard input says what to do, and where; the line that answers says how many ms it took.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Callable

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from batches import make_batch
from models import count_parameters, create_model
from torch.nn import functional as F
from training import versions


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def sync(folder: str) -> None:
    """What Accelerate leaves to the system: after it, what was saved outlives a loss of power."""
    for path in [*Path(folder).iterdir(), Path(folder)]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    torch.set_num_threads(1)
    set_seed(job["seed"])
    accelerator = Accelerator()
    model = create_model("gpt", job["sizes"])
    if count_parameters(model) != job["parameterCount"]:
        raise SystemExit(f"{count_parameters(model)} parameters")
    model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=1e-4))
    xs, ys = make_batch("gpt", job["sizes"], 1, torch.Generator().manual_seed(job["seed"]))

    def step() -> None:
        optimizer.zero_grad()
        accelerator.backward(F.cross_entropy(model(xs).flatten(0, -2), ys.flatten()))
        optimizer.step()

    def load(path: str) -> dict:
        load_ms = timed(lambda: accelerator.load_state(path))
        return {"loadMs": load_ms, "firstStepMs": timed(step)}

    commands = {
        "step": lambda _: {"stepMs": timed(step)},
        "save": lambda path: {
            "saveMs": timed(lambda: accelerator.save_state(path)),
            "syncMs": timed(lambda: sync(path)),
        },
        "load": load,
    }
    print(json.dumps({"versions": versions()}), flush=True)
    for line in sys.stdin:
        command, path = line.split()
        print(json.dumps(commands[command](path)), flush=True)


if __name__ == "__main__":
    main()
