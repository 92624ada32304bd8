"""The bench's models as a PyTorch user would write them."""

from torch import Tensor, arange, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


def create_convnet(image, channels, kernel, hidden, classes):
    """The MNIST convnet of McMahan et al. 2017 (arXiv:1602.05629), with dropout before both dense layers."""
    return nn.Sequential(
        nn.Conv2d(1, channels[0], kernel, padding=kernel // 2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(channels[0], channels[1], kernel, padding=kernel // 2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(channels[1] * (image // 4) ** 2, hidden),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(hidden, classes),
    )


def create_mlp(inputs, hidden, classes):
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, classes))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        B, T, _ = x.shape
        q, k, v = (part.view(B, T, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.projection(mixed.transpose(1, 2).reshape(B, T, -1))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, approximate: str):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Gpt(nn.Module):
    def __init__(
        self,
        layers: int,
        width: int,
        heads: int,
        sequence: int,
        vocabulary: int,
        checkpointed: bool = False,
        plainOps: bool = False,
    ):
        super().__init__()
        approximate = "tanh" if plainOps else "none"
        self.checkpointed = checkpointed
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(sequence, width)
        self.blocks = nn.Sequential(*(Block(width, heads, approximate) for _ in range(layers)))
        self.final_norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.head(self.final_norm(x))


def convolve(inputs: int, outputs: int, kernel: int, stride: int) -> list[nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return [convolution, nn.BatchNorm2d(outputs)]


class ResidualBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.residual = nn.Sequential(
            *convolve(inputs, outputs, 3, stride), nn.ReLU(), *convolve(outputs, outputs, 3, 1)
        )
        self.shortcut = nn.Sequential(*convolve(inputs, outputs, 1, stride)) if stride > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.residual(x) + self.shortcut(x))


def create_resnet(image, widths, blocksPerStage, classes):
    """The CIFAR ResNet of He et al. 2015 (arXiv:1512.03385), with 1x1 projections as shortcuts."""
    layers = [*convolve(3, widths[0], 3, 1), nn.ReLU()]
    inputs = widths[0]
    for stage, width in enumerate(widths):
        for index in range(blocksPerStage):
            layers.append(ResidualBlock(inputs, width, 2 if stage > 0 and index == 0 else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


class LstmClassifier(nn.Module):
    def __init__(self, inputs: int, hidden: int, sequence: int, classes: int):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        outputs, _ = self.lstm(x)
        return self.head(outputs[:, -1])


CREATORS = {
    "convnet": create_convnet,
    "gpt": Gpt,
    "gpt-plain": Gpt,
    "lstm": LstmClassifier,
    "mlp": create_mlp,
    "resnet": create_resnet,
}


def create_model(name: str, sizes: dict) -> nn.Module:
    return CREATORS[name](**sizes)


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
