"""Tells which time the products of a training step would take at the rate of a large product: `python product_floor.py job.json`.

FLOPs are those of PyTorch's own step, forward and backward: matrix products, convolutions and attention. oneDNN is off
while they are counted, because its operator for recurrent layers hides their products from the counter.
"""

import json
import sys
import time
from pathlib import Path

import torch
from batches import make_batch
from models import create_model
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

SIZE = 2048
REPEATS = 5


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    torch.set_num_threads(job["threads"])
    dtype = torch.float32 if job["precision"] == "fp32" else torch.bfloat16
    flops, rate = flops_of_step(job), rate_of_products(dtype)
    result = {"flops": flops, "flopsPerSecond": rate, "floorMs": flops / rate * 1e3}
    Path(job["resultPath"]).write_text(json.dumps(result))


def flops_of_step(job: dict) -> int:
    model = create_model(job["model"], job["sizes"])
    xs, ys = make_batch(job["model"], job["sizes"], job["batch"], torch.Generator().manual_seed(0))
    counter = FlopCounterMode(display=False)
    with torch.backends.mkldnn.flags(enabled=False), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        with counter:
            F.cross_entropy(model(xs).flatten(0, -2), ys.flatten()).backward()
    return counter.get_total_flops()


def rate_of_products(dtype: torch.dtype) -> float:
    """FLOPs per second of square products, by the faster of the libraries that libtorch has."""
    a, b = (torch.randn(SIZE, SIZE).to(dtype) for _ in range(2))
    ways = [lambda: torch.mm(a, b), lambda: torch.ops.mkldnn._linear_pointwise(a, b, None, "none", [], "")]
    return 2 * SIZE**3 / min(seconds_of(way) for way in ways for _ in range(REPEATS))


def seconds_of(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
