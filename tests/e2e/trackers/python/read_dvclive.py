"""
Answers the path of a folder, which it makes a repository of DVC, with what DVC and DVCLive find in it, as a line of
JSON.
"""
import json
import os
import sys
from pathlib import Path

from dvc.repo import Repo
from dvclive import Live
from dvclive.utils import parse_metrics


def read(path):
    repo = Repo.init(path, no_scm=True)
    # Where DVCLive finds no repository of DVC, it makes one of the Git repository around.
    os.chdir(path)
    live = Live(str(Path(path) / "dvclive"), resume=True, save_dvc_exp=False, dvcyaml=None)
    history, latest = parse_metrics(live)
    plots = repo.plots.show()["workspace"]["sources"]["data"]
    return {
        "metrics": repo.metrics.show()[""]["data"]["dvclive/metrics.json"]["data"],
        "params": repo.params.show()[""]["data"]["dvclive/params.yaml"]["data"],
        "plots": {name: plot["data"] for name, plot in plots.items() if name.endswith(".tsv")},
        "images": [name for name, plot in plots.items() if plot["data"][1:4] == b"PNG"],
        "artifacts": {name: [one.path, one.type] for name, one in repo.artifacts.read()["dvclive/dvc.yaml"].items()},
        "history": len(history),
        "latest": latest,
        "nextStep": live.step,
    }


# DVC prints messages, and only answers are for the test.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for line in sys.stdin:
    print(json.dumps(read(line.strip())), file=answers, flush=True)
