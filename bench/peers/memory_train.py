"""Tells how much CPU memory a training step needs with PyTorch + Accelerate: `python memory_train.py job.json`.

torch.profiler reports every block that libtorch's CPU allocator gives and takes back, with the bytes then in use; it is
on from the start, so that weights and the optimizer's state count too.
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from training import start_training, versions

MARK = "measured steps"


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        training = start_training(job)
        with record_function(MARK):
            training.run_steps(job["steps"])
    resting_bytes, peak_bytes = bytes_in_use(profiler)
    result = {
        "restingBytes": resting_bytes,
        "peakBytes": peak_bytes,
        "parameterCount": training.parameter_count,
        "threads": torch.get_num_threads(),
        "device": str(training.accelerator.device),
        "versions": versions(),
    }
    with open(job["resultPath"], "w") as file:
        json.dump(result, file)


def bytes_in_use(profiler: profile) -> tuple[int, int]:
    """Before the measured steps, and at most during them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    start = next(event["ts"] for event in events if event.get("name") == MARK and event["ph"] == "X")
    uses = [(event["ts"], event["args"]["Total Allocated"]) for event in events if event.get("name") == "[memory]"]
    uses.sort(key=lambda use: use[0])
    before = [use for time, use in uses if time < start]
    return before[-1], max(use for time, use in uses if time >= start)


if __name__ == "__main__":
    main()
