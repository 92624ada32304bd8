import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { GraphShape, Mixing } from './layers/layer-use.js';

export function headsNotDivisible(heads: number, kvHeads: number, ranks: number): AccError {
  return new AccError(
    'ACC_CONTEXT_HEADS',
    `context.attention is 'heads', but ${ranks} ranks cannot share ${heads} heads of queries and ${kvHeads} of keys equally.`,
    {
      help: "Use context: { attention: 'ring' }, which takes any number of heads, or a context axis that divides both.",
      details: { heads, kvHeads, ranks },
    },
  );
}

/** For a mask that states for each query only some of the keys. */
export function maskWithoutAllKeys(mask: Tensor, keys: number): AccError {
  return new AccError(
    'ACC_CONTEXT_MASK',
    `scaledDotProductAttention: the mask [${mask.shape.join(', ')}] says for each query which of this rank's keys it sees. On a context axis, queries see the keys of all ranks.`,
    {
      help: `Give the mask of this rank's queries for all ${keys} keys, or isCausal. A mask of keys alone, [batch, 1, 1, keys], may have this rank's.`,
      details: { shape: mask.shape, keys },
    },
  );
}

export function maskWithoutGradient(): AccError {
  return new AccError(
    'ACC_CONTEXT_MASK',
    'scaledDotProductAttention: the mask depends on a trained variable. On a context axis, masks have no gradient.',
    { help: 'Take the mask from values that are not trained, or train without a context axis.' },
  );
}

export function lengthsDiffer(q: Tensor, k: Tensor): AccError {
  return new AccError(
    'ACC_CONTEXT_LENGTH',
    `scaledDotProductAttention: isCausal with ${q.shape[2]} queries and ${k.shape[2]} keys on each rank. By ring attention, causal shards of queries and keys have one length.`,
    {
      help: 'Give q and k the same length, or a mask in place of isCausal.',
      details: { queries: q.shape[2], keys: k.shape[2] },
    },
  );
}

/** @param shapes Of the queries, the keys, the values or the mask, by rank of the context axis. */
export function shardsDiffer(shapes: readonly (readonly number[])[], cause?: AccError): AccError {
  const list = shapes.map((shape, rank) => `  rank ${rank} of the context axis: [${shape.join(', ')}]`);
  return new AccError(
    'ACC_CONTEXT_LENGTH',
    `scaledDotProductAttention: ranks have shards of other shapes:\n${list.join('\n')}`,
    {
      help: 'Give every rank a shard of the same length of the same rows. Prepared data is cut so.',
      cause,
      details: { shapes },
    },
  );
}

/** @param layer With the shape of its input that has a shard in dim 1. */
export function layerMixesPositions(
  { name, className, shape }: { name: string; className: string; shape: GraphShape },
  { does, instead }: Mixing,
  ranks: number,
): AccError {
  return new AccError(
    'ACC_CONTEXT_LAYER',
    `prepare: the layer '${name}' (${className}) ${does}. On a mesh with context: ${ranks}, dim 1 of its input [${shape.map((length) => length ?? 'null').join(', ')}] is one rank's shard of the sequence, and the layer would not see the other shards.`,
    {
      help: `${instead} Or leave the axis context out of the mesh.`,
      details: { layer: name, className, shape },
    },
  );
}

/** @param layer With the shape that it gets. */
export function featuresCut(
  { name, shape }: { name: string; shape: readonly number[] },
  ranks: number,
  cause: unknown,
): AccError {
  return new AccError(
    'ACC_CONTEXT_FEATURES',
    `The layer '${name}' gets [${shape.join(', ')}], and its weights are for ${shape[1]! * ranks} values of dim 1. On a mesh with context: ${ranks}, prepared data has one rank's shard of dim 1, also where that has features.`,
    {
      help: 'Give features to the model by a loop that feeds itself, or as [rows, positions, features]. Or leave the axis context out of the mesh.',
      cause,
      details: { layer: name, shape },
    },
  );
}
