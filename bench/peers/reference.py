"""Loss and gradients of a tiny instance of a model, for the other side to compare with: `python reference.py job.json`.

Writes weights and gradients in the order of the parameters and in tfjs's layouts: convolutions as
[height, width, in, out], linear layers as [in, out], rows of the layer after Flatten in the order height, width,
channel; an LSTM's two biases as their sum, which is all that the other side has.
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
        if isinstance(before, nn.Conv2d):
            channels = before.out_channels
        if isinstance(before, nn.AdaptiveAvgPool2d):
            channels = 1  # one pixel is left: nothing to reorder
        if isinstance(before, nn.Flatten):
            found[id(module)] = channels
    return found


def to_tfjs(value: torch.Tensor, module: nn.Module, flattened_channels: int) -> torch.Tensor:
    if isinstance(module, nn.Conv2d) and value.dim() == 4:
        return value.permute(2, 3, 1, 0)
    if isinstance(module, nn.LSTM) and value.dim() == 2:
        return value.t()
    if isinstance(module, nn.Linear) and value.dim() == 2:
        if flattened_channels:
            outputs = value.shape[0]
            value = value.view(outputs, flattened_channels, -1).transpose(1, 2).reshape(outputs, -1)
        return value.t()
    return value


def weights_and_grads(module: nn.Module) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """A module's own parameters with their gradients."""
    pairs = [(parameter, parameter.grad) for parameter in module.parameters(recurse=False)]
    if isinstance(module, nn.LSTM):
        *matrices, (input_bias, grad), (hidden_bias, _) = pairs
        return [*matrices, (input_bias + hidden_bias, grad)]
    return pairs


def flat(value: torch.Tensor) -> dict:
    return {"shape": list(value.shape), "values": value.detach().flatten().tolist()}


def reference(name: str, workload: dict, batch: int, seed: int) -> dict:
    torch.manual_seed(seed)
    sizes = workload["tinySizes"]
    # Dropout is random: such a model is compared as it predicts. Batch norm differs there, so others as they train.
    model = create_model(name, sizes).train(not workload.get("hasDropout", False))
    with torch.no_grad():  # zero biases and unit gains would hide a mix-up
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    xs, ys = make_batch(name, sizes, batch, torch.Generator().manual_seed(seed))
    loss = F.cross_entropy(model(xs).flatten(0, -2), ys.flatten())
    loss.backward()

    flattened = linear_after_flatten(model)
    pairs = [(module, *pair) for module in model.modules() for pair in weights_and_grads(module)]
    is_image = xs.dim() == 4
    return {
        "xs": flat(xs.permute(0, 2, 3, 1) if is_image else xs),
        "ys": flat(ys),
        "loss": loss.item(),
        "weights": [flat(to_tfjs(weight, module, flattened.get(id(module), 0))) for module, weight, _ in pairs],
        "grads": [flat(to_tfjs(grad, module, flattened.get(id(module), 0))) for module, _, grad in pairs],
    }


if __name__ == "__main__":
    with open(sys.argv[1]) as job_file:
        job = json.load(job_file)
    result = {
        name: reference(name, workload, batch=job["batch"], seed=job["seed"])
        for name, workload in job["workloads"].items()
    }
    with open(job["resultPath"], "w") as result_file:
        json.dump(result, result_file)
