"""The training loop as a user of PyTorch + Accelerate writes it, ready to be measured."""

import json
import os
import platform
import sys
import time
from dataclasses import dataclass
from typing import Callable

import accelerate
import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import set_seed
from batches import make_batch
from models import count_parameters, create_model
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F


@dataclass
class Training:
    """A model that has taken its warm-up steps."""

    accelerator: Accelerator
    parameter_count: int
    first_loss: float
    first_step_ms: float
    run_steps: Callable[[int], float]
    steps_on: Callable[[int], Callable[[int], float]]
    """`run_steps` on batches of another size, made when it is called."""


def start_training(job: dict) -> Training:
    torch.set_num_threads(job["threads"])
    # Accelerate runs the model in torch.autocast, and the loss outside of it.
    accelerator = Accelerator(mixed_precision="no" if job["precision"] == "fp32" else job["precision"])
    set_seed(job["seed"], device_specific=True)

    model = create_model(job["model"], job["sizes"])
    parameter_count = count_parameters(model)
    if parameter_count != job["parameterCount"]:
        raise SystemExit(f"{job['model']}: {parameter_count} parameters, expected {job['parameterCount']}")
    is_sharded = job.get("sharding") == "fully_shard"
    if is_sharded:
        shard(model, job["precision"])
    optimizer = torch.optim.Adam(model.parameters(), lr=job["learningRate"])
    if not is_sharded:
        model, optimizer = accelerator.prepare(model, optimizer)
    if job.get("torchCompile"):
        model = torch.compile(model)

    generator = torch.Generator().manual_seed(job["seed"] + accelerator.process_index)

    def steps_on(batch: int) -> Callable[[int], float]:
        batches = [
            tuple(part.to(accelerator.device) for part in make_batch(job["model"], job["sizes"], batch, generator))
            for _ in range(job["batches"])
        ]

        def run_steps(count: int) -> float:
            """Takes `count` steps and returns the last loss: the only one read. On a GPU, reading waits for all of them."""
            for step in range(count):
                xs, ys = batches[step % len(batches)]
                optimizer.zero_grad()
                logits = model(xs)
                loss = F.cross_entropy(logits.flatten(0, -2), ys.flatten())
                accelerator.backward(loss)
                optimizer.step()
            return loss.item()

        return run_steps

    run_steps = steps_on(job["batch"])
    model.train()
    start = time.perf_counter()
    first_loss = run_steps(1)
    first_step_ms = (time.perf_counter() - start) * 1e3
    run_steps(job["warmupSteps"])
    return Training(accelerator, parameter_count, first_loss, first_step_ms, run_steps, steps_on)


def shard(model: nn.Module, precision: str) -> None:
    """Shards each block of a GPT and the rest, as PyTorch's documentation advises."""
    dtype = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    policy = MixedPrecisionPolicy(param_dtype=dtype)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def leave(accelerator: Accelerator) -> None:
    """Ends this process once all ranks have come here.

    Nothing is destroyed: `Reducer` joins Gloo's thread while it holds the GIL, and that thread may wait for the GIL
    to free a tensor. Then the process never ends (torch 2.13). The barrier comes first, because c10d's threads may
    abort a rank that leaves long before the others.
    """
    accelerator.wait_for_everyone()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def report_of(training: Training, **measured) -> str:
    """What a process reports, as JSON: what it measured, and what it was measured on."""
    accelerator = training.accelerator
    return json.dumps(
        {
            "ranks": accelerator.num_processes,
            "threads": torch.get_num_threads(),
            "device": str(accelerator.device),
            "engine": str(accelerator.distributed_type).split(".")[-1],
            "parameterCount": training.parameter_count,
            "firstLoss": training.first_loss,
            "firstStepMs": training.first_step_ms,
            **measured,
            "versions": versions(),
        }
    )


def versions() -> dict:
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "accelerate": accelerate.__version__,
    }
