import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort, resultsOfRanks } from '@acc/testkit';
import { providedTfjsNode } from '../../../packages/engine-tfjs-node/src/testing/provided-tfjs-node.js';
import { MlflowServer } from '../trackers/mlflow-server.js';
import { venv } from '../trackers/python/venv.js';
import { WandbBackend } from '../trackers/wandb-backend.js';
import type { Observed } from './ranks/observed.js';

const mlflow = new MlflowServer(await freePort('127.0.0.1'));
const wandb = new WandbBackend();
let ranks: Observed[];

beforeAll(async () => {
  const [python] = await Promise.all([venv('wandb'), mlflow.start(), wandb.open()]);
  const folder = mkdtempSync(join(tmpdir(), 'acc-observed-'));
  ranks = await resultsOfRanks<Observed>({
    script: new URL('./ranks/observed.ts', import.meta.url),
    ranks: 2,
    args: [providedTfjsNode(), folder, mlflow.url, python.bin('wandb')],
    env: {
      ...{ OMP_NUM_THREADS: '1', TF_NUM_INTRAOP_THREADS: '1', TF_CPP_MIN_LOG_LEVEL: '2' },
      ...{ WANDB_BASE_URL: wandb.url, WANDB_API_KEY: 'a'.repeat(40), WANDB_ERROR_REPORTING: 'false' },
    },
  });
}, 600_000);

afterAll(async () => {
  await mlflow.stop();
  await wandb.close();
});

/** The gradients of two weights of 2048 float32 numbers. */
const GRADIENT_BYTES = 2 * 2048 * 4;

it("gradients cross TensorFlow's border once, and are reduced in the array that they are read into", () => {
  for (const { backend, moved } of ranks) {
    expect(backend).toBe('tensorflow');
    const { inLibtorch, ...others } = moved;
    expect(others).toEqual({
      fromTensorflow: GRADIENT_BYTES,
      toTensorflow: GRADIENT_BYTES,
      fromLibtorch: 0,
      operators: [],
    });
    expect(inLibtorch).toBeLessThan(4096);
  }
});

it("MLflow's server and W&B's client receive the losses", async () => {
  const { losses, mlflowRun } = ranks[0]!;
  const history = await mlflow.history(mlflowRun!, 'loss');
  expect(history.map(({ value }) => value)).toEqual(losses);
  const { info, data } = await mlflow.run(mlflowRun!);
  expect(info.status).toBe('FINISHED');
  expect(data.params).toContainEqual({ key: 'engine', value: 'tensorflow' });
  const [run, ...others] = wandb.streams.keys();
  expect(others).toEqual([]);
  const rows = wandb.rows(run!).map(({ loss, _step }) => [_step, loss]);
  expect(rows).toEqual(losses.map((loss, step) => [step, loss]));
  expect(wandb.exits.get(run!)).toBe(0);
});
