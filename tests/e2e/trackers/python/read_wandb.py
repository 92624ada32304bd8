"""Answers the path of a .wandb file with its records, decoded by the official package's messages, as a line of JSON."""
import json
import struct
import sys
import zlib

from google.protobuf.json_format import MessageToDict
from google.protobuf.unknown_fields import UnknownFieldSet
from wandb.proto import wandb_internal_pb2

BLOCK = 32768
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def records_of(data):
    """LevelDB's log format (doc/log_format.md of LevelDB), behind seven bytes of W&B."""
    assert data[:7] == b":W&B\xe1\xbe\x00"
    at, parts = 7, []
    while at + 7 <= len(data):
        if BLOCK - at % BLOCK < 7:
            at += BLOCK - at % BLOCK
            continue
        checksum, length, kind = struct.unpack("<IHB", data[at : at + 7])
        chunk = data[at + 7 : at + 7 + length]
        if len(chunk) < length or checksum != zlib.crc32(data[at + 6 : at + 7 + length]):
            return
        at += 7 + length
        parts.append(chunk)
        if kind in (FULL, LAST):
            yield b"".join(parts)
            parts = []


def read(path):
    found = []
    with open(path, "rb") as file:
        for data in records_of(file.read()):
            record = wandb_internal_pb2.Record.FromString(data)
            kind = record.WhichOneof("record_type")
            body = getattr(record, kind)
            assert len(UnknownFieldSet(record)) == len(UnknownFieldSet(body)) == 0, f"unknown fields in {kind}"
            found.append({"kind": kind, "num": record.num, "body": MessageToDict(body, preserving_proto_field_name=True)})
    return found


for line in sys.stdin:
    print(json.dumps(read(line.strip())))
