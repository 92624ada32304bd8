"""Loss and gradients of a tiny instance of a model, for the other side to compare with: `python reference.py job.json`.

Writes weights and gradients in the order of the parameters and in tfjs's layouts: convolutions as
[height, width, in, out], linear layers as [in, out], rows of the layer after Flatten in the order height, width,
channel.
"""

import json
import sys

import torch
from batches import make_batch
from models import create_model
from torch import nn
from torch.nn import functional as F


def linear_after_flatten(model: nn.Module) -> dict[int, int]:
    """For a linear layer's id after Flatten, the number of channels that were flattened."""
    modules = list(model) if isinstance(model, nn.Sequential) else []
    found, channels = {}, 0
    for before, module in zip(modules, modules[1:]):
        channels = before.out_channels if isinstance(before, nn.Conv2d) else channels
        if isinstance(before, nn.Flatten):
            found[id(module)] = channels
    return found


def to_tfjs(value: torch.Tensor, module: nn.Module, flattened_channels: int) -> torch.Tensor:
    if isinstance(module, nn.Conv2d) and value.dim() == 4:
        return value.permute(2, 3, 1, 0)
    if isinstance(module, nn.Linear) and value.dim() == 2:
        if flattened_channels:
            outputs = value.shape[0]
            value = value.view(outputs, flattened_channels, -1).transpose(1, 2).reshape(outputs, -1)
        return value.t()
    return value


def flat(value: torch.Tensor) -> dict:
    return {"shape": list(value.shape), "values": value.detach().flatten().tolist()}


def reference(name: str, sizes: dict, batch: int, seed: int) -> dict:
    torch.manual_seed(seed)
    model = create_model(name, sizes).eval()
    with torch.no_grad():  # zero biases and unit gains would hide a mix-up
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    xs, ys = make_batch(name, sizes, batch, torch.Generator().manual_seed(seed))
    loss = F.cross_entropy(model(xs).flatten(0, -2), ys.flatten())
    loss.backward()

    flattened = linear_after_flatten(model)
    pairs = [(p, m) for m in model.modules() for p in m.parameters(recurse=False)]
    order = {id(p): i for i, p in enumerate(model.parameters())}
    pairs.sort(key=lambda pair: order[id(pair[0])])
    channels_last = xs.permute(0, 2, 3, 1) if name == "convnet" else xs
    return {
        "xs": flat(channels_last),
        "ys": flat(ys),
        "loss": loss.item(),
        "weights": [flat(to_tfjs(p, m, flattened.get(id(m), 0))) for p, m in pairs],
        "grads": [flat(to_tfjs(p.grad, m, flattened.get(id(m), 0))) for p, m in pairs],
    }


if __name__ == "__main__":
    with open(sys.argv[1]) as job_file:
        job = json.load(job_file)
    result = {
        name: reference(name, workload["tinySizes"], batch=3, seed=job["seed"])
        for name, workload in job["workloads"].items()
    }
    with open(job["resultPath"], "w") as result_file:
        json.dump(result, result_file)
