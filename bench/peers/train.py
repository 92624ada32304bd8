"""Times training steps of one model with PyTorch + Accelerate: `python train.py job.json`, or by torchrun.

The main process writes what it measured to the job's `resultPath`.
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
    block_ms, cpu_ms = [], []
    for _ in range(job["blocks"]):
        accelerator.wait_for_everyone()
        start, cpu_start = time.perf_counter(), time.process_time()
        last_loss = training.run_steps(job["steps"])
        accelerator.wait_for_everyone()
        block_ms.append((time.perf_counter() - start) * 1e3)
        cpu_ms.append((time.process_time() - cpu_start) * 1e3)

    if accelerator.is_main_process:
        report = report_of(training, blockMs=block_ms, cpuMs=cpu_ms, lastLoss=last_loss)
        Path(job["resultPath"]).write_text(report)
    leave(accelerator)


if __name__ == "__main__":
    main()
