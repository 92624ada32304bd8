"""Writes pytorch.json: the gradients that PyTorch's communication hooks give in DistributedDataParallel.

    python3 -m venv venv && venv/bin/pip install torch==2.13.0 numpy
    venv/bin/python make_fixture.py

Gradients and the matrices that PowerSGD starts from are `number(...)`, which is the same function as in ../numbers.ts.
PyTorch draws its starting matrices at random; `start_from` puts these in their place.
"""

import json
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

STEPS = 6
START = 2
RANKS = [2, 3]
SHAPES = {"one": [[12, 9]], "several": [[12, 9], [9], [4, 3], [7, 10]]}
POWER_SGD = {
    "rank1-one": dict(shapes="one", matrix_approximation_rank=1),
    "rank2-several": dict(shapes="several", matrix_approximation_rank=2, min_compression_rate=1.25),
    "rank3-several-forgetful": dict(
        shapes="several", matrix_approximation_rank=3, min_compression_rate=1, use_error_feedback=False
    ),
}
# PyTorch's hook for bfloat16 wants a GPU.
CASTS = {"fp16": default_hooks.fp16_compress_hook}
CAST_SHAPES = [[257]]
Q_RANK = 100
MASK = 0xFFFFFFFF


def number(rank, step, variable, i):
    """In [-1, 1), exact in float32."""
    x = ((i + 1) * 0x9E3779B1 ^ (rank + 1) * 0x85EBCA6B ^ (step + 1) * 0xC2B2AE35 ^ (variable + 1) * 0x27D4EB2F) & MASK
    x ^= x >> 15
    x = x * 0x2C1B3C6D & MASK
    x ^= x >> 12
    x = x * 0x297A2D39 & MASK
    x ^= x >> 15
    return (x >> 8) / 2**23 - 1


def numbers(rank, step, variable, shape):
    size = torch.Size(shape).numel()
    return torch.tensor([number(rank, step, variable, i) for i in range(size)], dtype=torch.float32).reshape(shape)


class Model(torch.nn.Module):
    def __init__(self, shapes):
        super().__init__()
        self.weights = torch.nn.ParameterList([torch.zeros(shape) for shape in shapes])

    def forward(self, gradients):
        return sum((gradient * weight).sum() for gradient, weight in zip(gradients, self.weights))


def start_from(state, bucket, shapes):
    """Has the first compressed step start from `number` in place of random matrices."""
    if state.iter != START or 0 in state.p_memory_dict:
        return
    ps, qs = [], []
    for matrix in bucket.gradients():
        shape = list(matrix.shape)
        if len(shape) < 2:
            continue
        rows, columns = shape
        rank = min(rows, columns, state.matrix_approximation_rank)
        if not (rows + columns) * rank * state.min_compression_rate < rows * columns:
            continue
        ps.append(torch.empty(rows * rank))
        qs.append(numbers(Q_RANK, 0, shapes.index(shape), [columns * rank]))
    state.p_memory_dict[0] = torch.cat(ps)
    state.q_memory_dict[0] = torch.cat(qs)


def train(rank, shapes, steps, register):
    model = DistributedDataParallel(Model(shapes))
    register(model)
    history = []
    for step in range(steps):
        model.zero_grad(set_to_none=True)
        model([numbers(rank, step, k, shape) for k, shape in enumerate(shapes)]).backward()
        history.append([weight.grad.flatten().tolist() for weight in model.module.weights])
    return history


def run(rank, size, folder):
    dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store{size}", size), rank=rank, world_size=size)
    results = {}
    for name, options in POWER_SGD.items():
        options = dict(options)
        shapes = SHAPES[options.pop("shapes")]
        state = powerSGD_hook.PowerSGDState(process_group=None, start_powerSGD_iter=START, **options)

        def hook(state, bucket, shapes=shapes):
            start_from(state, bucket, shapes)
            return powerSGD_hook.powerSGD_hook(state, bucket)

        results[name] = train(rank, shapes, STEPS, lambda model: model.register_comm_hook(state, hook))
    for name, hook in CASTS.items():
        results[name] = train(rank, CAST_SHAPES, 1, lambda model: model.register_comm_hook(None, hook))
    if rank == 0:
        with open(f"{folder}/{size}.json", "w") as file:
            json.dump(results, file)
    dist.barrier()
    dist.destroy_process_group()


def compact(value):
    """Nine digits are enough for every float32."""
    return [compact(one) for one in value] if isinstance(value, list) else float(f"{value:.9g}")


if __name__ == "__main__":
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    fixture = {"torch": torch.__version__.split("+")[0]}
    with tempfile.TemporaryDirectory() as folder:
        for size in RANKS:
            mp.spawn(run, args=(size, folder), nprocs=size)
            with open(f"{folder}/{size}.json") as file:
                results = json.load(file)
            fixture[str(size)] = {name: [compact(step) for step in steps] for name, steps in results.items()}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch.json")
    with open(path, "w") as file:
        json.dump(fixture, file, separators=(",", ":"))
        file.write("\n")
