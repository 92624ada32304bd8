"""Seeded batches of the bench's models: the same distribution as on the other side."""

import torch


def make_batch(name: str, sizes: dict, batch: int, generator: torch.Generator):
    """Inputs and class ids: images or rows uniform in [0, 1), or token ids with the ids to predict."""
    if name == "gpt":
        shape = (batch, sizes["sequence"])
        return tuple(torch.randint(sizes["vocabulary"], shape, generator=generator) for _ in range(2))
    shape = (batch, 1, sizes["image"], sizes["image"]) if name == "convnet" else (batch, sizes["inputs"])
    xs = torch.rand(shape, generator=generator)
    return xs, torch.randint(sizes["classes"], (batch,), generator=generator)
