"""
Answers the path of a folder with what TensorBoard's own readers find in it, and `fields` with the fields of messages of
TensorBoard, as a line of JSON.
"""
import json
import struct
import sys
from pathlib import Path

from google.protobuf import descriptor_pool
from tensorboard.backend.event_processing import event_file_loader, plugin_event_accumulator
from tensorboard.compat.proto import event_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util


def number(array):
    value = float(array)
    return value if value == value and abs(value) != float("inf") else str(value)


def image(array):
    return [int(array[0]), int(array[1]), *(list(struct.unpack(">II", png[16:24])) for png in array[2:])]


def read(folder):
    files = sorted(path for path in Path(folder).iterdir() if "tfevents" in path.name)
    if not files:
        return None
    # This loader checks each record's checksums.
    loaders = [event_file_loader.RawEventFileLoader(str(path)) for path in files]
    raw = [event_pb2.Event.FromString(data) for loader in loaders for data in loader.Load()]
    accumulator = plugin_event_accumulator.EventAccumulator(
        folder, size_guidance={plugin_event_accumulator.TENSORS: 0}
    )
    accumulator.Reload()

    def contents(plugin):
        try:
            return accumulator.PluginTagToContent(plugin)
        except KeyError:
            return {}

    def series(plugin, convert):
        return {
            tag: [
                [event.step, convert(tensor_util.make_ndarray(event.tensor_proto))]
                for event in accumulator.Tensors(tag)
            ]
            for tag in contents(plugin)
        }

    hparams = {}
    for tag, content in contents("hparams").items():
        parsed = plugin_data_pb2.HParamsPluginData.FromString(content)
        if tag.endswith("session_start_info"):
            values = parsed.session_start_info.hparams
            hparams["start"] = {key: getattr(value, value.WhichOneof("kind")) for key, value in values.items()}
        else:
            hparams["end"] = parsed.session_end_info.status
    return {
        "starts": [event.step for event in raw if event.HasField("session_log")],
        "scalars": series("scalars", number),
        "text": series("text", lambda array: [item.decode() for item in array.tolist()]),
        "images": series("images", image),
        "histograms": series("histograms", lambda array: array.tolist()),
        "hparams": hparams,
    }


def fields(names):
    """Name, number, type, the type's name where it has one, and oneof: by message."""
    pool = descriptor_pool.Default()

    def field(of):
        kind = of.message_type or of.enum_type
        group = of.containing_oneof
        return [of.name, of.number, of.type, kind and kind.full_name, group and group.name]

    return {name: [field(of) for of in pool.FindMessageTypeByName(name).fields] for name in names}


for line in sys.stdin:
    question, *names = line.split()
    print(json.dumps(fields(names) if question == "fields" else read(line.strip())))
