"""Times training steps of one model on one rank, on batches of several sizes by turns: `python scaling_train.py job.json`.

Writes what it measured to the job's `resultPath`. The same as `scaling/ours.ts`.
"""

import json
import sys
import time
from pathlib import Path

from training import leave, report_of, start_training


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    training = start_training(job)
    accelerator = training.accelerator
    runners = [training.run_steps, *map(training.steps_on, job["batchSizes"][1:])]
    for run in runners[1:]:
        run(-(-job["warmupSteps"] // 5))

    meeting = job.get("meeting")
    block_ms = [[] for _ in runners]
    for block in range(job["blocks"]):
        for i, run in enumerate(runners):
            if meeting:
                meet(f"block-{block}-{i}", **meeting)
            else:
                accelerator.wait_for_everyone()
            start = time.perf_counter()
            last_loss = run(job["steps"])
            if not meeting:
                accelerator.wait_for_everyone()
            block_ms[i].append((time.perf_counter() - start) * 1e3)

    Path(job["resultPath"]).write_text(report_of(training, blockMs=block_ms, lastLoss=last_loss))
    leave(accelerator)


def meet(name: str, folder: str, index: int, count: int) -> None:
    """Lets processes that don't communicate begin together: by files in a folder of theirs."""
    paths = [Path(folder, f"{name}-{process}") for process in range(count)]
    paths[index].touch()
    while not all(path.exists() for path in paths):
        time.sleep(0.001)


if __name__ == "__main__":
    main()
