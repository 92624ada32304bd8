"""Times training steps of models that ranks compute together, with PyTorch: `torchrun tensor_train.py job.json`.

Uses `parallelize_module` over Gloo. On one rank the models are plain. The main process writes what it measured to the
job's `resultPath`.
"""

import contextlib
import json
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from models import Gpt
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn import functional as F


def gpt_plan(layers: int, along_sequence: bool) -> dict:
    """The plan of PyTorch's tutorial on tensor parallelism for Llama."""
    sequence = Shard(1)
    if not along_sequence:
        plan = {
            "tokens": RowwiseParallel(input_layouts=Replicate()),
            "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
        }
    else:
        plan = {
            "tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=sequence),
            "positions": PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(0)),
            "final_norm": SequenceParallel(),
            "head": ColwiseParallel(input_layouts=sequence, output_layouts=Shard(-1), use_local_output=False),
        }
    for i in range(layers):
        block = f"blocks.{i}"
        plan[f"{block}.attention.qkv"] = ColwiseParallel()
        plan[f"{block}.mlp.0"] = ColwiseParallel()
        output = {"output_layouts": sequence} if along_sequence else {}
        plan[f"{block}.attention.projection"] = RowwiseParallel(**output)
        plan[f"{block}.mlp.2"] = RowwiseParallel(**output)
        if along_sequence:
            gathered = {"input_layouts": (sequence,), "desired_input_layouts": (Replicate(),)}
            for part in ("attention", "mlp"):
                plan[f"{block}.{part}_norm"] = SequenceParallel()
                plan[f"{block}.{part}"] = PrepareModuleInput(**gathered)
    return plan


def create_gpt(sizes: dict, mesh, along_sequence: bool):
    """A GPT whose ranks have the rows of `tokens` and of `head`, which are one matrix."""
    shape = {name: sizes[name] for name in ("layers", "width", "heads", "sequence", "vocabulary")}
    model = Gpt(**shape, plainOps=True)
    if mesh is not None:
        parallelize_module(model, mesh, gpt_plan(sizes["layers"], along_sequence))
        # The local columns of the one matrix of queries, keys and values are those of some heads of all three.
        for block in model.blocks:
            block.attention.heads //= mesh.size()
    model.head.weight = model.tokens.weight
    ids = (sizes["batch"], sizes["sequence"])
    xs, ys = (torch.randint(sizes["vocabulary"], ids) for _ in range(2))
    return model, xs, ys, lambda logits, labels: F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def create_mlp(sizes: dict, mesh):
    width, inner = sizes["width"], sizes["inner"]
    pairs = (nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width)) for _ in range(sizes["pairs"]))
    model = nn.Sequential(*pairs)
    if mesh is not None:
        for pair in model:
            parallelize_module(pair, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    xs, ys = (torch.randn(sizes["batch"], width) for _ in range(2))
    return model, xs, ys, F.mse_loss


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    torch.set_num_threads(1)
    ranks = job["ranks"]
    mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("tensor",)) if ranks > 1 else None
    wait = dist.barrier if mesh else lambda: None
    results = []
    for case in job["cases"]:
        torch.manual_seed(1)
        if "gpt" in case:
            model, xs, ys, loss_of = create_gpt(case["gpt"], mesh, case.get("sequence", False))
        else:
            model, xs, ys, loss_of = create_mlp(case["mlp"], mesh)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        is_parallel_loss = mesh is not None and "gpt" in case

        def run(count: int) -> float:
            for _ in range(count):
                optimizer.zero_grad()
                with loss_parallel() if is_parallel_loss else contextlib.nullcontext():
                    loss = loss_of(model(xs), ys)
                    loss.backward()
                optimizer.step()
            return loss.item()

        first_loss = run(1)
        run(job["warmupSteps"])
        step_ms = []
        for _ in range(job["blocks"]):
            wait()
            start = time.perf_counter()
            last_loss = run(job["steps"])
            wait()
            step_ms.append((time.perf_counter() - start) * 1e3 / job["steps"])
        results.append({"name": case["name"], "stepMs": step_ms, "firstLoss": first_loss, "lastLoss": last_loss})
    if mesh is None or dist.get_rank() == 0:
        versions = {"python": sys.version.split()[0], "torch": torch.__version__}
        Path(job["resultPath"]).write_text(json.dumps({"results": results, "versions": versions}))
    if mesh is not None:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
