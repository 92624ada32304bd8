"""Seeded batches of the bench's models: the same distribution as on the other side."""

import torch

SAMPLE_SHAPES = {
    "convnet": lambda sizes: (1, sizes["image"], sizes["image"]),
    "lstm": lambda sizes: (sizes["sequence"], sizes["inputs"]),
    "mlp": lambda sizes: (sizes["inputs"],),
    "resnet": lambda sizes: (3, sizes["image"], sizes["image"]),
}


def make_batch(name: str, sizes: dict, batch: int, generator: torch.Generator):
    """Inputs and class ids: samples uniform in [0, 1), or token ids with the ids to predict."""
    if name in ("gpt", "gpt-plain"):
        shape = (batch, sizes["sequence"])
        return tuple(torch.randint(sizes["vocabulary"], shape, generator=generator) for _ in range(2))
    xs = torch.rand((batch, *SAMPLE_SHAPES[name](sizes)), generator=generator)
    return xs, torch.randint(sizes["classes"], (batch,), generator=generator)
