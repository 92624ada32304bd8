"""Writes files of each format with the libraries of its own ecosystem, and what is in them as JSON.

Usage: write_formats.py FOLDER
"""

import csv
import json
import os
import random
import struct
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
import webdataset as wds
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

folder = sys.argv[1]
draw = random.Random(7)
path = lambda name: os.path.join(folder, name)
expected = {}


def write_tfrecords():
    lists = tf.train.FloatList, tf.train.Int64List, tf.train.BytesList
    floats, integers, texts = [lambda values, kind=kind: kind(value=values) for kind in lists]
    feature = tf.train.Feature
    samples = []
    for shard in range(3):
        with tf.io.TFRecordWriter(path(f"t-{shard:03}.tfrecord")) as writer:
            for _ in range(16 + shard):
                i = len(samples)
                sample = {
                    "id": i,
                    "x": [float(np.float32(draw.uniform(-9, 9))) for _ in range(6)],
                    "lengths": [draw.randint(-(2**31), 2**31 - 1) for _ in range(i % 4)],
                    "text": "ä" * (i % 5) + f" {i}",
                    "words": [f"w{k}" for k in range(i % 3)],
                    "pixels": [draw.randrange(256) for _ in range(4)],
                }
                features = {
                    "id": feature(int64_list=integers([i])),
                    "x": feature(float_list=floats(sample["x"])),
                    "lengths": feature(int64_list=integers(sample["lengths"])),
                    "text": feature(bytes_list=texts([sample["text"].encode()])),
                    "words": feature(bytes_list=texts([word.encode() for word in sample["words"]])),
                    "pixels": feature(bytes_list=texts([bytes(sample["pixels"])])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())
                samples.append(sample)
    expected["tfrecord"] = samples
    with tf.io.TFRecordWriter(path("gzip.tfrecord"), "GZIP") as writer:
        writer.write(b"")


def write_webdataset():
    samples = []
    with wds.ShardWriter(path("w-%03d.tar"), maxcount=17, verbose=0) as sink:
        for i in range(50):
            key = f"folder.one/{'long-' * 25}ä-{i:04}" if i % 10 == 3 else f"{i:04}"
            array = np.arange(6, dtype=["float32", "float64", "int64", "uint8"][i % 4]).reshape(2, 3) + i
            pixels = np.array([[[i, 2, 3], [4, 5, 250 - i]]], dtype="uint8")
            content = {"txt": f"text\nä {i}", "cls": i, "json": {"i": i}, "npy": array, "png": pixels}
            sink.write({"__key__": key, **content, "seg.png": pixels[:, :1], "bin": bytes([i, 255])})
            samples.append({"key": key, "array": array.tolist(), "pixels": pixels.tolist()})
    expected["webdataset"] = samples


def write_csv():
    rows = []
    for shard in range(2):
        with open(path(f"c-{shard}.csv"), "w", newline="", encoding="utf8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "text", "a", "b", "flag"])
            for _ in range(25):
                i = len(rows)
                text = draw.choice(["plain", 'a "quote"', "two\nlines", "comma, ä", "", "\r\n"]) + f"{i}"
                row = [i, text, draw.uniform(-1, 1), draw.uniform(-1e30, 1e-30), i % 2 == 0]
                writer.writerow(row)
                rows.append(row)
    expected["csv"] = rows


def write_json_lines():
    rows = [{"id": i, "text": "ä\n" * (i % 4), "x": [i, {"y": None}]} for i in range(50)]
    for shard in range(2):
        with open(path(f"j-{shard}.jsonl"), "w", encoding="utf8") as file:
            for row in rows[shard * 25 : shard * 25 + 25]:
                file.write(json.dumps(row, ensure_ascii=row["id"] % 2 == 0) + "\n")
    expected["jsonl"] = rows


def write_tokens():
    words = ["the", "quick", "brown", "fox", "jumps", "naïve", "日本", "don't", "  ", "\n", "3.14", "🙂"]
    texts = [" ".join(draw.choices(words, k=draw.randrange(0, 60))) for _ in range(40)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<|end|>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(path("tokenizer.json"))
    with open(path("texts.jsonl"), "w", encoding="utf8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    end = tokenizer.token_to_id("<|end|>")
    documents = [tokenizer.encode(text).ids + [end] for text in texts]
    write_megatron(documents)
    expected["tokens"] = documents


def write_megatron(documents):
    """The format of Megatron-LM's IndexedDataset: MMapIndexedDataset of version 1."""
    lengths = np.array([len(document) for document in documents], dtype="<i4")
    with open(path("megatron.bin"), "wb") as file:
        file.write(np.concatenate(documents).astype("<u2").tobytes())
    with open(path("megatron.idx"), "wb") as file:
        file.write(b"MMIDIDX\x00\x00" + struct.pack("<Q", 1) + struct.pack("<B", 8))
        file.write(struct.pack("<QQ", len(documents), len(documents) + 1))
        file.write(lengths.tobytes())
        file.write(np.concatenate([[0], np.cumsum(lengths[:-1] * 2)]).astype("<i8").tobytes())
        file.write(np.arange(len(documents) + 1, dtype="<i8").tobytes())


for write in write_tfrecords, write_webdataset, write_csv, write_json_lines, write_tokens:
    write()
with open(path("expected.json"), "w", encoding="utf8") as file:
    json.dump(expected, file)
