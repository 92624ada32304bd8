"""Writes folders of images, and beside them what Pillow reads: pixels, and torchvision's order."""

import json
import os
import sys

import numpy as np
from PIL import Image

root = sys.argv[1]
random = np.random.default_rng(0)
SIZE = (20, 28)
# [width, height]
RESIZED = ((13, 7), (45, 9))


def smooth(phase):
    y, x = np.mgrid[0 : SIZE[0], 0 : SIZE[1]]
    channels = [128 + 90 * np.sin(x / 5 + phase), 128 + 80 * np.cos(y / 4 - phase), (9 * x + 3 * y) % 256]
    return np.stack(channels, -1).clip(0, 255).astype("uint8")


noise = random.integers(0, 256, (*SIZE, 4), dtype="uint8")
exact = {
    "b/rgb.png": Image.fromarray(noise[..., :3].copy()),
    "b/rgba.png": Image.fromarray(noise),
    "a/grey.png": Image.fromarray(noise[..., 0].copy()),
    "a/palette.png": Image.fromarray(noise[..., :3].copy()).quantize(16),
    "B/deep/lossless.webp": Image.fromarray(noise[..., :3].copy()),
    "B/z.jpg": Image.fromarray(smooth(1)),
    "B/grey.jpeg": Image.fromarray(smooth(2)[..., 0].copy()),
}
for name, image in exact.items():
    path = os.path.join(root, "kinds", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    image.save(path, **({"lossless": True} if name.endswith("webp") else {}))

# The algorithm of torchvision.datasets.ImageFolder: sorted classes, walked folders and files.
samples = []
classes = sorted(entry.name for entry in os.scandir(os.path.join(root, "kinds")) if entry.is_dir())
for label, name in enumerate(classes):
    for folder, _, files in sorted(os.walk(os.path.join(root, "kinds", name), followlinks=True)):
        samples += [(os.path.join(folder, file), label) for file in sorted(files)]

pixels = []
for path, _ in samples:
    image = Image.open(path)
    read = {mode: list(image.convert(mode).tobytes()) for mode in ("RGB", "L", "RGBA")}
    # Both axes shorter, and one of them longer.
    resized = {
        mode: [list(image.convert(mode).resize(size, Image.Resampling.BILINEAR).tobytes()) for size in RESIZED]
        for mode in ("RGB", "L", "RGBA")
    }
    pixels.append({**read, "resized": resized})
with open(os.path.join(root, "expected.json"), "w") as file:
    json.dump({"classes": classes, "samples": samples, "pixels": pixels}, file)

for i in range(22):
    path = os.path.join(root, "many", f"class {i % 3}", f"{i}.png")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Image.fromarray(random.integers(0, 256, (*SIZE, 3), dtype="uint8")).save(path)

os.makedirs(os.path.join(root, "broken", "only"))
for i in range(4):
    Image.fromarray(smooth(i)).save(os.path.join(root, "broken", "only", f"{i}.jpg"))
with open(os.path.join(root, "broken", "only", "2.jpg"), "r+b") as file:
    file.truncate(500)
