"""Tells where a step's time goes with PyTorch + Accelerate, on one rank: `python profile_train.py job.json`.

The same steps are taken twice: unobserved, and under torch.profiler.
"""

import json
import re
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile
from training import start_training, versions

PARTS = [
    ("libtorch operators", re.compile(r"^(aten|mkldnn|torch)::(?!autograd)")),
    ("optimizer, outside operators", re.compile(r"^Optimizer\.")),
    ("autograd engine", re.compile(r"Backward\d*$|^autograd::|^torch::autograd")),
]


def part_of(name: str) -> str:
    return next((part for part, pattern in PARTS if pattern.search(name)), "other events")


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    training = start_training(job)
    steps = job["steps"]

    def time_steps() -> float:
        """Wall time of one step, in ms."""
        start = time.perf_counter()
        training.run_steps(steps)
        return (time.perf_counter() - start) * 1e3 / steps

    step_ms = time_steps()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        observed_step_ms = time_steps()

    parts: dict[str, float] = {}
    operators = []
    for event in profiler.key_averages(group_by_input_shape=True):
        ms = event.self_cpu_time_total / 1e3 / steps
        part = part_of(event.key)
        parts[part] = parts.get(part, 0.0) + ms
        if part == PARTS[0][0]:
            shapes = " ".join(describe(shape) for shape in event.input_shapes if shape)
            operators.append({"name": event.key, "shapes": shapes, "calls": event.count / steps, "ms": ms})
    parts["Python, and what the profiler adds"] = max(0.0, observed_step_ms - sum(parts.values()))
    result = {
        "stepMs": step_ms,
        "observedStepMs": observed_step_ms,
        "parameterCount": training.parameter_count,
        "operators": operators,
        "parts": [{"name": name, "ms": ms} for name, ms in parts.items()],
        "threads": torch.get_num_threads(),
        "device": str(training.accelerator.device),
        "versions": versions(),
    }
    with open(job["resultPath"], "w") as file:
        json.dump(result, file)


def describe(shape: list) -> str:
    """A tensor by its shape, a list of tensors by how many they are."""
    if isinstance(shape[0], (list, tuple)):
        return f"{len(shape)} tensors"
    return f"[{','.join(map(str, shape))}]"


if __name__ == "__main__":
    main()
