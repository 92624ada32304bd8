import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poll, type RunConfig, type Tracker } from '@acc/contract';
import { identifyRun, TrackerBus, type RunOptions, type TrackerLimits } from '@acc/tracker';

export interface RunBegin {
  readonly projectDir?: string;
  readonly project?: string;
  readonly config?: RunConfig;
  readonly run?: RunOptions;
  readonly limits?: Partial<TrackerLimits>;
  /** Creates the tracker again, for entries that earlier runs could not send. */
  readonly make?: () => Tracker;
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'acc-tracked-'));
}

/** A running run as `initTrackers` begins it, with the messages of its bus. */
export async function beginRun(tracker: Tracker, options: RunBegin = {}) {
  const { projectDir = newFolder(), project = 'digits', config = {}, run = {}, limits = {}, make } = options;
  const said: string[] = [];
  const bus = new TrackerBus({ rank: 0, size: 1, warn: (message) => said.push(message), limits });
  const identity = identifyRun(project, run, { projectDir, loaded: undefined });
  await bus.start({ identity, config, projectDir, trackers: [{ tracker, make }] });
  return { bus, said, projectDir, id: identity.id, dir: bus.run!.dir };
}

export const CONFIG = { lr: 0.001, model: { layers: [32, 10], name: 'convnet' }, amp: true, seed: null };

/** A checkpoint of two files, one in a folder. */
export function makeArtifact(): string {
  const folder = newFolder();
  mkdirSync(join(folder, 'weights'));
  writeFileSync(join(folder, 'state.json'), '{"step": 3}');
  writeFileSync(join(folder, 'weights', 'model.bin'), Buffer.alloc(300_000, 7));
  return folder;
}

const HIDDEN = { name: 'hidden', units: 2, batch_input_shape: [null, 3], dtype: 'float32' };
const MODEL = {
  class_name: 'Sequential',
  config: { name: 'net', layers: [{ class_name: 'Dense', config: HIDDEN }] },
  keras_version: 'tfjs-layers 4.22.0',
  backend: 'tensor_flow.js',
};

/** A model as `saveModel` writes it, in a folder. */
export function writeModel(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'model.json'), JSON.stringify({ format: 'layers-model', modelTopology: MODEL }));
  writeFileSync(join(folder, 'model.safetensors'), Buffer.alloc(1_000, 7));
  return Promise.resolve();
}

/** A picture of 3 x 2 pixels. */
export const PICTURE = { width: 3, height: 2, data: Uint8Array.from({ length: 18 }, (_, i) => 10 * i) };

/** Waits until the condition holds. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const isSoAtLast = await poll(async () => (await isSo()) || undefined, { timeoutMs: 240_000 });
  if (!isSoAtLast) throw new Error(`never so: ${String(isSo)}`);
}
