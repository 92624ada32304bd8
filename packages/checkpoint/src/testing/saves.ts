import * as tf from '@tensorflow/tfjs';
import { expect, onTestFinished, vi } from 'vitest';
import type { Collective } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import { Checkpoints } from '../checkpoints.js';
import { locationOf } from '../location.js';
import { resolveCheckpointOptions, type CheckpointOptions } from '../options.js';
import { openCheckpoint } from '../read/open.js';
import { readRest, readTree } from '../read/read-state.js';
import type { SaveRequest } from '../write/save.js';

export const oneRank = {
  rank: 0,
  size: 1,
  named: <R>(_: string, fn: () => R) => fn(),
  allGatherObject: <T>(value: T) => [value],
  broadcastObject: <T>(value: T) => value,
} as unknown as Collective;

export const layer = () => kernelLayerOf(tf.getBackend(), tf.backend()).state;

export function checkpointsOfOneRank(options: CheckpointOptions): Checkpoints {
  return new Checkpoints({
    options: resolveCheckpointOptions(options),
    layer: layer(),
    collective: oneRank,
  });
}

export function request(shared: unknown, step = 1): SaveRequest {
  const info = { step, epoch: 0, savedAt: new Date(step * 1000).toISOString(), metrics: { loss: 1 / step } };
  return { info, shared, local: { rank: 0 }, tensors: [] };
}

export async function load(path: string) {
  const checkpoint = await openCheckpoint(locationOf(path, undefined));
  return readRest(checkpoint, await readTree(checkpoint, checkpoint.index.shared), layer());
}

export const error = (code: string): Error => expect.objectContaining({ code }) as Error;

/** Collects the warnings of acc until the test ends. Warnings of tfjs are ignored. */
export function warnings(): string[] {
  const said: string[] = [];
  const hear = (line: string) => void (line.startsWith('acc: ') && said.push(line));
  const spy = vi.spyOn(console, 'warn').mockImplementation(hear);
  onTestFinished(() => spy.mockRestore());
  return said;
}
