"""Makes models with random weights and saves them as the Hub has them, and answers with what they compute.

Each line of input is JSON: {"task", ...}. See the functions below.
"""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
import transformers.models.mixtral.modeling_mixtral as mixtral
from peft import LoraConfig, PeftModel, get_peft_model

torch.manual_seed(0)
torch.set_num_threads(1)
transformers.utils.logging.set_verbosity_error()


CLASSES = {
    "gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel),
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
}


def load(folder, kind, **options):
    return CLASSES[kind][1].from_pretrained(folder, dtype=torch.float32, **options).eval()


def build(kind, config, seed):
    torch.manual_seed(seed)
    config_class, model_class = CLASSES[kind]
    model = model_class(config_class(**config))
    # Biases and gains begin with zeros and ones, which would hide a wrong place.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model


def flat(tensor):
    return tensor.detach().float().reshape(-1).tolist()


def logits(model, tokens):
    with torch.no_grad():
        return flat(model(torch.tensor(tokens)).logits)


def gradients(model, tokens):
    """The mean cross-entropy of the next tokens, and the gradient of each weight."""
    batch = torch.tensor(tokens)
    loss = model(batch, labels=batch).loss
    loss.backward()
    named = {name: flat(p.grad) for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return {"loss": loss.item(), "gradients": named}


def generated(model, tokens, count):
    prompts = torch.tensor(tokens)
    return model.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=count,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
    ).tolist()


def make(folder, kind, config, tokens, count=0, dtype="float32", max_shard="5GB", seed=0):
    """Saves a model of random weights into a folder."""
    build(kind, config, seed).to(getattr(torch, dtype)).save_pretrained(folder, max_shard_size=max_shard)
    # Both sides compute in float32, with the weights that the files have.
    model = load(folder, kind)
    answer = {"logits": logits(model, tokens), **gradients(model, tokens)}
    if count > 0:
        answer["generated"] = generated(model, tokens, count)
    return answer


def read(folder, kind, tokens, gguf=None):
    """Reads a folder that another program has written, or a GGUF file in it by the `gguf` package."""
    options = {} if gguf is None else {"gguf_file": gguf}
    return {"logits": logits(load(folder, kind, **options), tokens)}


def pack(folder, kind, config, tokens, packing, max_shard="5GB"):
    """Saves a model of random weights that torchao has packed."""
    from torchao import quantization as ao

    build(kind, config, 0).save_pretrained(folder)
    packings = {
        "int8": ao.Int8WeightOnlyConfig(),
        "int4": ao.IntxWeightOnlyConfig(
            weight_dtype=torch.int4, granularity=ao.PerGroup(32), mapping_type=ao.MappingType.ASYMMETRIC
        ),
    }
    model = load(folder, kind, quantization_config=transformers.TorchAoConfig(packings[packing]))
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    model.save_pretrained(folder, max_shard_size=max_shard)
    return {"logits": logits(model, tokens)}


def adapt(folder, adapter, kind, tokens, targets, rank, alpha):
    """Gives the model of a folder an adapter of random values, and saves that."""
    config = LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets, task_type="CAUSAL_LM")
    adapted = get_peft_model(load(folder, kind), config).eval()
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                parameter.copy_(0.1 * torch.randn_like(parameter))
    adapted.save_pretrained(adapter)
    return {"logits": logits(adapted, tokens), **gradients(adapted, tokens)}


def read_adapter(folder, adapter, kind, tokens):
    """Reads an adapter that another program has written."""
    return {"logits": logits(PeftModel.from_pretrained(load(folder, kind), adapter).eval(), tokens)}


def mixture(x, dy, experts, inner, balance, seed=0):
    """Mixtral's mixture of experts, two a token, with its load-balancing loss; and all weights."""
    torch.manual_seed(seed)
    inputs = torch.tensor(x, requires_grad=True)
    config = transformers.MixtralConfig(
        hidden_size=inputs.shape[-1],
        intermediate_size=inner,
        num_local_experts=experts,
        num_experts_per_tok=2,
    )
    block = mixtral.MixtralSparseMoeBlock(config)
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.copy_(0.4 * torch.randn_like(parameter))
    y = block(inputs)
    routed = mixtral.load_balancing_loss_func((block.gate(inputs)[0],), experts, 2)
    (torch.sum(y * torch.tensor(dy)) + balance * routed).backward()
    named = dict(block.named_parameters())
    return {
        "y": flat(y),
        "dx": flat(inputs.grad),
        "weights": {name: p.tolist() for name, p in named.items()},
        "gradients": {name: p.grad.tolist() for name, p in named.items()},
    }


TASKS = {
    "mixture": mixture,
    "make": make,
    "read": read,
    "pack": pack,
    "adapt": adapt,
    "read_adapter": read_adapter,
}

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(TASKS[request.pop("task")](**request)))
