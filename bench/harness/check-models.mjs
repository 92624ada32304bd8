import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runJob, runProcess } from './run-process.mjs';
import { benchDir, workloads } from './workloads.mjs';

/** The number of samples. A few suffice, because the models are tiny. */
const BATCH = 3;

/**
 * Compares tiny instances of the models with PyTorch's: parameter counts, loss and gradients from
 * the same weights.
 *
 * @param backend The tfjs backend to compare.
 * @param python The Python of the peer, with torch and accelerate.
 * @throws Error at the first difference.
 */
export async function checkModels(backend, python) {
  const reference = await runJob({ workloads, batch: BATCH, seed: 1 }, (jobPath) =>
    runProcess(python, [`${benchDir}peers/reference.py`, jobPath]),
  );
  const folder = mkdtempSync(join(tmpdir(), 'acc-bench-check-'));
  try {
    const referencePath = join(folder, 'reference.json');
    const jobPath = join(folder, 'job.json');
    writeFileSync(referencePath, JSON.stringify(reference));
    writeFileSync(jobPath, JSON.stringify({ backend, batch: BATCH, workloads, referencePath }));
    const report = await runProcess(process.execPath, [
      ...['--import', import.meta.resolve('tsx')],
      `${benchDir}check-models.ts`,
      jobPath,
    ]);
    console.log(report.trim().split('\n').at(-1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
