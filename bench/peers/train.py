"""Times training steps of one model with PyTorch + Accelerate: `python train.py job.json`, or by torchrun.

The main process writes what it measured to the job's `resultPath`.
"""

import json
import platform
import sys
import time

import accelerate
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from batches import make_batch
from models import count_parameters, create_model
from torch.nn import functional as F


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    torch.set_num_threads(job["threads"])
    accelerator = Accelerator()
    set_seed(job["seed"], device_specific=True)

    model = create_model(job["model"], job["sizes"])
    parameter_count = count_parameters(model)
    if parameter_count != job["parameterCount"]:
        raise SystemExit(f"{job['model']}: {parameter_count} parameters, expected {job['parameterCount']}")
    optimizer = torch.optim.Adam(model.parameters(), lr=job["learningRate"])
    model, optimizer = accelerator.prepare(model, optimizer)

    generator = torch.Generator().manual_seed(job["seed"] + accelerator.process_index)
    batches = [make_batch(job["model"], job["sizes"], job["batch"], generator) for _ in range(job["batches"])]

    def run_steps(count: int) -> float:
        """Takes `count` steps and returns the last loss: the only one read."""
        for step in range(count):
            xs, ys = batches[step % len(batches)]
            optimizer.zero_grad()
            logits = model(xs)
            loss = F.cross_entropy(logits.flatten(0, -2), ys.flatten())
            accelerator.backward(loss)
            optimizer.step()
        return loss.item()

    model.train()
    first_loss = run_steps(1)
    run_steps(job["warmupSteps"])
    block_ms, cpu_ms = [], []
    for _ in range(job["blocks"]):
        accelerator.wait_for_everyone()
        start, cpu_start = time.perf_counter(), time.process_time()
        last_loss = run_steps(job["steps"])
        accelerator.wait_for_everyone()
        block_ms.append((time.perf_counter() - start) * 1e3)
        cpu_ms.append((time.process_time() - cpu_start) * 1e3)

    if accelerator.is_main_process:
        result = {
            "ranks": accelerator.num_processes,
            "threads": torch.get_num_threads(),
            "engine": str(accelerator.distributed_type).split(".")[-1],
            "parameterCount": parameter_count,
            "blockMs": block_ms,
            "cpuMs": cpu_ms,
            "firstLoss": first_loss,
            "lastLoss": last_loss,
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "accelerate": accelerate.__version__,
            },
        }
        with open(job["resultPath"], "w") as file:
            json.dump(result, file)
    accelerator.end_training()


if __name__ == "__main__":
    main()
