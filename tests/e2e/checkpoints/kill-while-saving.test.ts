import { build } from 'esbuild';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, inject } from 'vitest';
import * as tf from '@tensorflow/tfjs';
import {
  Checkpoints,
  fileStorage,
  openCheckpoint,
  readRest,
  readTree,
  resolveCheckpointOptions,
} from '@acc/checkpoint';
import { SingleCollective } from '@acc/collective';
import { isAccError } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';

const KILLS = inject('isRelease') ? 200 : 12;
/** The number of processes at the same time. */
const WORKERS = 2;

let folder: string;
let script: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-kill-'));
  // One bundled file starts fast.
  script = fileURLToPath(new URL(`../../../node_modules/.cache/acc-save-forever.mjs`, import.meta.url));
  await build({
    entryPoints: [fileURLToPath(new URL('./ranks/save-forever.ts', import.meta.url))],
    outfile: script,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    external: ['@tensorflow/*', 'zod', 'yauzl'],
    logLevel: 'error',
  });
  await tf.setBackend('cpu');
});
afterAll(() => rm(folder, { recursive: true }));

/** The last complete save that the process reported, by place. */
type Said = Record<'named' | 'one', number>;

/** Lets the process save for a while and then kills it. */
async function saveAndKill(place: string, first: number, afterMs: number): Promise<Said> {
  const child = spawn(process.execPath, [script, place, String(first)], {
    stdio: 'pipe',
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), ended]);
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill('SIGKILL');
  const [code, signal] = (await ended) as [number | null, string | null];
  expect({ code, signal }).toEqual({ code: null, signal: 'SIGKILL' });
  const last = (name: string) =>
    Number([...said.matchAll(new RegExp(`^${name} (\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0);
  return { named: last('named'), one: last('one') };
}

const layer = () => kernelLayerOf('cpu', tf.backend()).state;

/** The step of a checkpoint, after checking that all of it belongs to that step. */
async function stepOf(prefix: string, place: string): Promise<number> {
  const checkpoint = await openCheckpoint({ storage: fileStorage(place), prefix });
  const read = await readRest(checkpoint, await readTree(checkpoint, checkpoint.index.shared), layer());
  const { step, weights } = read.tree as { step: number; weights: tf.Tensor[] };
  for (const x of weights) expect([...new Set(x.dataSync())]).toEqual([step]);
  tf.dispose([...read.tensors]);
  expect(checkpoint.index.step).toBe(step);
  return step;
}

it(`${KILLS} killed saves lose no complete checkpoint, and no incomplete one is loaded`, async () => {
  let kills = 0;
  const worker = async (number: number) => {
    const place = join(folder, String(number));
    const options = resolveCheckpointOptions({ dir: join(place, 'named') });
    const checkpoints = new Checkpoints({ options, layer: layer(), collective: new SingleCollective() });
    const complete: Said = { named: 0, one: 0 };
    for (let next = 1; kills++ < KILLS;) {
      const said = await saveAndKill(place, next, Math.random() * 40);
      for (const key of ['named', 'one'] as const) complete[key] = Math.max(complete[key], said[key]);
      const name = (await checkpoints.newest(new Set()))!;
      const named = await stepOf(`${name}/`, join(place, 'named'));
      const one = await stepOf('', join(place, 'one')).catch((error: unknown) => {
        if (complete.one === 0 && isAccError(error, 'ACC_CHECKPOINT_NOT_FOUND')) return 0;
        throw error;
      });
      // A save that the process was about to report may be complete, too.
      expect(named).toBeGreaterThanOrEqual(complete.named);
      expect(one).toBeGreaterThanOrEqual(complete.one);
      next = Math.max(named, one) + 1;
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, (_, i) => worker(i)));
}, 600_000);
