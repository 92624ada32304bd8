"""Writes Parquet and Arrow files with pyarrow, and beside them their rows as JSON."""

import datetime
import json
import os
import sys

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

root = sys.argv[1]


def table(start, rows):
    numbers = range(start, start + rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "small": pa.array([i % 100 - 50 for i in numbers], pa.int8()),
            "big": pa.array([5_000_000_000 + i for i in numbers], pa.int64()),
            "score": pa.array([i / 8 for i in numbers], pa.float32()),
            "precise": pa.array([i / 3 for i in numbers], pa.float64()),
            "flag": pa.array([i % 3 == 0 for i in numbers], pa.bool_()),
            "text": pa.array([f"row {i} ä" for i in numbers], pa.string()),
            "kind": pa.array([f"kind {i % 4}" for i in numbers], pa.dictionary(pa.int32(), pa.string())),
            "raw": pa.array([bytes([i % 256, 255, 0]) for i in numbers], pa.binary()),
            "vector": pa.array([[i, i + 0.5, -i] for i in numbers], pa.list_(pa.float32())),
            "tokens": pa.array([list(range(i % 5)) for i in numbers], pa.list_(pa.int32())),
            "matrix": pa.array([[[i, 1], [2, 3]] for i in numbers], pa.list_(pa.list_(pa.int64()))),
            "when": pa.array(
                [datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=i) for i in numbers],
                pa.timestamp("us"),
            ),
            "maybe": pa.array([None if i % 7 == 3 else i for i in numbers], pa.int32()),
            # Many bytes that no test asks for.
            "padding": pa.array([os.urandom(3000) for _ in numbers], pa.binary()),
        }
    )


def write(name, start, rows, **options):
    pq.write_table(table(start, rows), os.path.join(root, name), **options)


COMPRESSIONS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
for i, compression in enumerate(COMPRESSIONS):
    write(f"kinds-{i}.parquet", 10 * i, 10, compression=compression, row_group_size=4)
write("delta.parquet", 60, 10, use_dictionary=False, data_page_version="2.0", compression="zstd")
# Twelve row groups of at least 60 kB each.
write("rows-0.parquet", 0, 160, row_group_size=20, compression="snappy")
write("rows-1.parquet", 160, 80, row_group_size=20, compression="snappy")
pq.write_table(pa.table({"id": pa.array(["a"])}), os.path.join(root, "other.parquet"))



def write_arrow(name, parts, rows, new=pa.ipc.new_file, **options):
    """Record batches of `rows` rows. Dictionaries come before them."""
    whole = pa.concat_tables(parts).unify_dictionaries()
    with new(os.path.join(root, name), whole.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(whole, max_chunksize=rows)


write_arrow("kinds-0.arrow", [table(0, 30)], 4)
write_arrow("kinds-1.arrow", [table(30, 30)], 7, new=pa.ipc.new_stream)
write_arrow("rows-0.arrow", [table(0, 160)], 20)
write_arrow("rows-1.arrow", [table(160, 80)], 20)
write_arrow("zstd.arrow", [table(0, 10)], 10, compression="zstd")
feather.write_feather(table(0, 10), os.path.join(root, "plain.feather"), compression="uncompressed")
# One stream whose dictionary grows, and then is replaced.
values = [["a", "b"], ["a", "b", "c"], ["z"]]
kinds = [pa.DictionaryArray.from_arrays(pa.array(range(len(part)), pa.int32()), part) for part in values]
batches = [pa.record_batch([kind], names=["kind"]) for kind in kinds]
options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
with pa.ipc.new_stream(os.path.join(root, "dictionaries.arrow"), batches[0].schema, options=options) as writer:
    for batch in batches:
        writer.write_batch(batch)
pq.write_table(pa.table({"d": pa.array([1], pa.duration("s"))}), os.path.join(root, "duration.parquet"))
write_arrow("duration.arrow", [pa.table({"d": pa.array([1], pa.duration("s"))})], 1)

rows = table(0, 70).drop_columns(["padding", "raw", "when"]).to_pylist()
times = [int(value.timestamp() * 1000) for value in (
    moment.replace(tzinfo=datetime.timezone.utc) for moment in table(0, 70)["when"].to_pylist()
)]
with open(os.path.join(root, "expected.json"), "w") as file:
    json.dump({"rows": rows, "times": times}, file)
