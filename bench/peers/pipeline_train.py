"""Times pipelined training steps with PyTorch: `torchrun pipeline_train.py job.json`.

Uses torch.distributed.pipelining over Gloo. The main process writes what it measured to the job's `resultPath`.
"""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
)

KINDS = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B, "interleaved": ScheduleInterleaved1F1B}


def schedule_of(job, case, rank, ranks):
    """The schedule and the stages of this rank. PyTorch's zero bubble for one stage a rank is that of several with one."""
    chunks = 2 if case["schedule"] == "interleaved" else 1
    count = chunks * ranks
    each = job["layers"] // count
    width = job["width"]
    stages = []
    for chunk in range(chunks):
        layers = [layer for _ in range(each) for layer in (nn.Linear(width, width), nn.ReLU())]
        stages.append(PipelineStage(nn.Sequential(*layers), chunk * ranks + rank, count, torch.device("cpu")))
    kind = KINDS.get(case["schedule"], ScheduleInterleavedZeroBubble)
    is_multi = kind in (ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble)
    loss = nn.MSELoss()
    return kind(stages if is_multi else stages[0], case["microBatches"], loss_fn=loss), stages


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    results = []
    for case in job["cases"]:
        schedule, stages = schedule_of(job, case, rank, ranks)
        optimizer = torch.optim.SGD([p for stage in stages for p in stage.submod.parameters()], lr=0.001)
        batch = (job["rows"] * case["microBatches"], job["width"])
        xs, ys = torch.randn(batch), torch.randn(batch)
        is_last = rank == ranks - 1

        def run(steps):
            for _ in range(steps):
                optimizer.zero_grad()
                args = (xs,) if rank == 0 else ()
                if is_last:
                    losses = []
                    schedule.step(*args, target=ys, losses=losses)
                else:
                    schedule.step(*args)
                optimizer.step()

        run(job["warmup"])
        step_ms = []
        for _ in range(job["blocks"]):
            dist.barrier()
            start = time.perf_counter()
            run(job["steps"])
            dist.barrier()
            step_ms.append((time.perf_counter() - start) * 1e3 / job["steps"])
        results.append({**case, "stepMs": step_ms})
    if rank == 0:
        versions = {"python": sys.version.split()[0], "torch": torch.__version__}
        Path(job["resultPath"]).write_text(json.dumps({"results": results, "versions": versions}))
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    main()
