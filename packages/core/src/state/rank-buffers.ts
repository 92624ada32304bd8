import { createHash } from 'node:crypto';
import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { NamedTensor, StoredReference } from '@acc/checkpoint';
import type { Collective } from '@acc/contract';
import { packedOf } from '@acc/kernels';
import { buffersOf } from '@acc/tfjs-internals';
import { PARAMETERS } from './model-state.js';
import type { NamedTensors } from './named-tensors.js';
import type { RunContext } from './run-context.js';

/**
 * Weights that no gradient changes, such as the moving statistics of batch normalization. Each rank
 * changes them by its own rows, so ranks may hold different values: until a window of accumulation
 * closes, or always (`batchNorm: 'local'`).
 */
const buffers = new WeakSet<Variable>();

/** Notes which of the variables that are prepared are buffers. */
export function noteBuffers(variables: readonly Variable[], layers?: readonly unknown[]): void {
  const found = layers ? buffersOf(layers) : variables.filter(({ trainable }) => !trainable);
  // Packed ones are frozen.
  for (const variable of found) if (!packedOf(variable)) buffers.add(variable);
}

/** Buffers by their names in a checkpoint. */
export type RankBuffers<T> = Readonly<Record<string, T>>;

/** The buffers of this rank, of which it holds every element. */
export function buffersOfRank(
  { trainingStep, collective }: Pick<RunContext, 'trainingStep' | 'collective'>,
  names: NamedTensors,
): RankBuffers<Tensor> {
  if (collective.size === 1) return {};
  const local = trainingStep.trained.prepared.filter((each) => buffers.has(each) && !names.isSharded(each));
  return Object.fromEntries(local.map((variable) => [names.nameOf(variable), names.localOf(variable)]));
}

interface SavedBuffers {
  /** The buffers that differ over ranks. */
  readonly buffers: RankBuffers<Tensor>;
  readonly tensors: readonly NamedTensor[];
}

/**
 * Finds the buffers that differ over ranks, which each rank saves for itself. Those of the first rank
 * are also saved under their names in the model, so that these belong together. Every rank calls it.
 */
export function differingBuffers(
  { buffers: local = {}, tensors }: Partial<SavedBuffers> & Pick<SavedBuffers, 'tensors'>,
  collective: Collective,
): SavedBuffers {
  if (collective.size === 1) return { buffers: {}, tensors };
  const sums = Object.entries(local).map(([name, tensor]): [string, string] => [name, digestOf(tensor)]);
  const first = new Map<string, string>();
  const differing = new Set<string>();
  for (const [name, sum] of collective.allGatherObject(sums).flat()) {
    if (first.has(name) && first.get(name) !== sum) differing.add(name);
    else first.set(name, sum);
  }
  const inModel = new Set([...differing].map((name) => `${PARAMETERS}/${name}`));
  return {
    buffers: Object.fromEntries(Object.entries(local).filter(([name]) => differing.has(name))),
    tensors: tensors.map((each) => (inModel.has(each.name) ? { ...each, isOfFirst: true } : each)),
  };
}

/**
 * The names of the tensors with which this rank continues, by those of its buffers. On another number
 * of ranks, all ranks continue with those of the first one, which are in the model.
 */
export function storedBuffers(
  stored: RankBuffers<StoredReference> | undefined,
  worldSize: number,
  collective: Collective,
): ReadonlyMap<string, string> {
  const local = worldSize === collective.size ? Object.entries(stored ?? {}) : [];
  return new Map(local.map(([name, reference]) => [name, reference.name]));
}

function digestOf(tensor: Tensor): string {
  const { buffer, byteOffset, byteLength } = tensor.dataSync();
  return createHash('sha256')
    .update(new Uint8Array(buffer, byteOffset, byteLength))
    .digest('base64');
}
