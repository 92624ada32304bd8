"""
Answers the id of a task and the path of the requests that recorded it with what ClearML's own client finds in the
task, as a line of JSON. The requests must follow the schemas of this client.
"""
import importlib
import json
import sys

import jsonschema
from clearml import Task

EVENTS = {
    "training_stats_scalar": "MetricsScalarEvent",
    "training_debug_image": "MetricsImageEvent",
    "plot": "MetricsPlotEvent",
    "log": "TaskLogEvent",
}


def require(body, schema):
    jsonschema.validate(body, schema)
    unknown = set(body) - set(schema["properties"]) - {"_any_"}
    assert not unknown, f"unknown fields: {unknown}"


def check(action, body):
    service, verb = action.split(".")
    module = importlib.import_module(f"clearml.backend_api.services.v2_13.{service}")
    if isinstance(body, list):
        definitions = {"definitions": module.AddRequest._schema["definitions"]}
        for event in body:
            require(event, getattr(module, EVENTS[event["type"]])._schema | definitions)
        return
    require(body, getattr(module, "".join(part.title() for part in verb.split("_")) + "Request")._schema)


def read(task_id, requests):
    for request in json.load(open(requests)):
        check(request["action"], request["body"])
    task = Task.get_task(task_id=task_id)
    return {
        "name": task.name,
        "status": task.get_status(),
        "tags": task.get_tags(),
        "project": task.get_project_name(),
        "parameters": task.get_parameters(),
        "scalars": task.get_reported_scalars(),
        "plots": [[plot["metric"], plot["iter"], json.loads(plot["plot_str"])] for plot in task.get_reported_plots()],
        "console": task.get_reported_console_output(number_of_reports=10),
        "artifacts": {key: open(artifact.get_local_copy(), "rb").read().hex() for key, artifact in task.artifacts.items()},
    }


for line in sys.stdin:
    print(json.dumps(read(*line.split())))
