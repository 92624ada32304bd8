"""Times and measures training steps with PyTorch: `python sharding_train.py job.json`, or by torchrun.

The job's `sharding` is `ddp` (Accelerate's default) or `fully_shard` (each block of the model, then the rest). The main
process writes what it measured to the job's `resultPath`.
"""

import json
import resource
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from training import leave, report_of, start_training


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    training = start_training(job)
    accelerator = training.accelerator
    block_ms = []
    for _ in range(job["blocks"]):
        accelerator.wait_for_everyone()
        start = time.perf_counter()
        last_loss = training.run_steps(job["steps"])
        accelerator.wait_for_everyone()
        block_ms.append((time.perf_counter() - start) * 1e3)

    resident = torch.tensor([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024])
    if accelerator.num_processes > 1:
        dist.all_reduce(resident, dist.ReduceOp.MAX)
    if accelerator.is_main_process:
        report = report_of(training, blockMs=block_ms, lastLoss=last_loss, residentBytes=resident.item())
        Path(job["resultPath"]).write_text(report)
    leave(accelerator)


if __name__ == "__main__":
    main()
