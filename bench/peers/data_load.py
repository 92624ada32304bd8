"""Reads epochs of one case with PyTorch's DataLoader: `python data_load.py job.json`.

Epochs of the warm-up are not timed. `python data_load.py --write FOLDER COUNT` writes JPEG files.
"""

import io
import json
import math
import os
import sys
import time

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, TensorDataset
from training import versions


class Digits(Dataset):
    """Samples as those of MNIST: bytes, which become floats when they are read."""

    def __init__(self, samples: int) -> None:
        self.pixels = np.random.default_rng(1).integers(0, 256, (samples, 28, 28), dtype="uint8")
        self.labels = np.arange(samples) % 10

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int):
        return torch.from_numpy(self.pixels[i]).unsqueeze(0).float().div(255), int(self.labels[i])


class Tokens(Dataset):
    """Consecutive sequences of a file of 16-bit tokens, and the tokens that follow."""

    def __init__(self, path: str, sequence: int, samples: int) -> None:
        self.tokens = np.memmap(path, dtype=np.uint16, mode="r")
        self.sequence, self.samples = sequence, samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, i: int):
        start = i * self.sequence
        both = torch.from_numpy(self.tokens[start : start + self.sequence + 1].astype(np.int64))
        return both[:-1], both[1:]


class Images(Dataset):
    """torchvision's ImageFolder with RandomResizedCrop, RandomHorizontalFlip, ToTensor, Normalize."""

    def __init__(self, root: str, crop: int, mean: list, std: list) -> None:
        classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.samples = [
            (os.path.join(root, name, file), label)
            for label, name in enumerate(classes)
            for file in sorted(os.listdir(os.path.join(root, name)))
        ]
        self.crop = crop
        self.mean = torch.tensor(mean).view(3, 1, 1)
        self.std = torch.tensor(std).view(3, 1, 1)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, i: int):
        path, label = self.samples[i]
        with open(path, "rb") as file:
            image = Image.open(file).convert("RGB")
        image = image.crop(self.part(*image.size)).resize((self.crop, self.crop), Image.Resampling.BILINEAR)
        if torch.rand(1) < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous().float().div(255)
        return pixels.sub_(self.mean).div_(self.std), label

    def part(self, width: int, height: int):
        ratio = torch.log(torch.tensor([3 / 4, 4 / 3]))
        for _ in range(10):
            area = width * height * torch.empty(1).uniform_(0.08, 1).item()
            aspect = math.exp(torch.empty(1).uniform_(ratio[0], ratio[1]).item())
            w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < w <= width and 0 < h <= height:
                top = torch.randint(0, height - h + 1, (1,)).item()
                left = torch.randint(0, width - w + 1, (1,)).item()
                return left, top, left + w, top + h
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        return left, top, left + side, top + side


def open_dataset(job: dict) -> Dataset:
    if job["case"] == "columns":
        pixels = torch.rand(job["samples"], 1, 28, 28)
        return TensorDataset(pixels, torch.arange(job["samples"]) % 10)
    if job["case"] == "samples":
        return Digits(job["samples"])
    if job["case"] == "tokens":
        return Tokens(job["path"], job["sequence"], job["samples"])
    return Images(job["path"], job["crop"], job["mean"], job["std"])


def write_images(root: str, count: int) -> None:
    """Pictures with the detail of photographs: noise of several scales."""
    random = np.random.default_rng(0)
    for i in range(count):
        layers = [random.normal(0, 40, (375 // size + 1, 500 // size + 1, 3)) for size in (100, 25, 5)]
        planes = [Image.fromarray(np.clip(128 + layer, 0, 255).astype("uint8")) for layer in layers]
        sums = sum(np.asarray(plane.resize((500, 375), Image.Resampling.BICUBIC), dtype=float) for plane in planes)
        folder = os.path.join(root, f"class {i % 10}")
        os.makedirs(folder, exist_ok=True)
        pixels = np.clip(sums - 256 + random.normal(0, 4, sums.shape), 0, 255).astype("uint8")
        Image.fromarray(pixels).save(os.path.join(folder, f"{i:05}.jpg"), quality=90)


def time_decoding(job: dict) -> dict:
    """The time of processors for one image, in ms: the fastest of several rounds."""
    paths = [path for path, _ in Images(job["path"], 1, [0] * 3, [1] * 3).samples]
    files = []
    for path in paths:
        with open(path, "rb") as file:
            files.append(file.read())
    rounds = []
    for _ in range(job["rounds"]):
        start = time.process_time()
        for file in files:
            Image.open(io.BytesIO(file)).convert("RGB")
        rounds.append(1000 * (time.process_time() - start) / len(files))
    return {"cpuMs": {"Pillow": min(rounds)}}


def main() -> None:
    if sys.argv[1] == "--write":
        return write_images(sys.argv[2], int(sys.argv[3]))
    with open(sys.argv[1]) as file:
        job = json.load(file)
    torch.set_num_threads(1)
    if job["case"] == "decode":
        with open(job["resultPath"], "w") as file:
            json.dump(time_decoding(job), file)
        return
    torch.manual_seed(7)
    loader = DataLoader(
        open_dataset(job),
        batch_size=job["batch"],
        shuffle=True,
        drop_last=True,
        num_workers=job["workers"],
        persistent_workers=job["workers"] > 0,
    )
    epoch_ms = []
    for epoch in range(-job["warmup"], job["epochs"]):
        start = time.perf_counter()
        samples = 0
        for x, _ in loader:
            samples += len(x)
            shape = list(x.shape)
        if epoch >= 0:
            epoch_ms.append(1000 * (time.perf_counter() - start))
    result = {"epochMs": epoch_ms, "samples": samples, "shape": shape, "versions": versions()}
    with open(job["resultPath"], "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
