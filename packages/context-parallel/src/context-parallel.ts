import type { Plugin } from '@acc/contract';
import { divideSequences, type Attend } from '@acc/kernels';
import { headsNotDivisible } from './errors.js';
import { attendByHeads } from './heads/attend-by-heads.js';
import { nameCutFeatures } from './layers/name-cut-features.js';
import { isGraph, requirePositions } from './layers/require-positions.js';
import { hasRows } from './masks.js';
import { resolveContextOptions, type ContextOptions, type ResolvedContextOptions } from './options.js';
import type { SequenceShards } from './sequence-shards.js';
import { attendInRing } from './ring/attend-in-ring.js';

/**
 * Makes ranks of the axis `context` compute attention together, each with its shard of the
 * sequences. Refuses models with layers that need other shards. Does nothing on a mesh without that
 * axis.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function contextParallel(options?: ContextOptions): Plugin {
  const resolved = resolveContextOptions(options);
  let end: (() => void) | undefined;
  let ranks = 1;
  return {
    name: 'context-parallel',
    attach({ mesh, kernels }) {
      if (mesh.size('context') === 1) return;
      const shards = { ranks: mesh.along('context'), kernels };
      const { rank: index, size } = shards.ranks;
      ranks = size;
      end = divideSequences({ index, size, attend: attending(shards, resolved) });
    },
    claim(object) {
      if (ranks > 1 && isGraph(object)) requirePositions(object, ranks);
      return undefined;
    },
    forward(compute) {
      try {
        return compute();
      } catch (error) {
        throw ranks > 1 ? nameCutFeatures(error, ranks) : error;
      }
    },
    detach() {
      end?.();
      end = undefined;
    },
  };
}

function attending(shards: SequenceShards, { attention }: ResolvedContextOptions): Attend {
  const { size } = shards.ranks;
  return (q, k, v, settings) => {
    const [heads, kvHeads] = [q.shape[1]!, k.shape[1]!];
    const areDivisible = heads % size === 0 && kvHeads % size === 0;
    if (attention === 'heads' && !areDivisible) throw headsNotDivisible(heads, kvHeads, size);
    // For whole sequences, each rank would need the rows of all queries.
    const isLargeMask = settings.mask !== undefined && hasRows(settings.mask);
    const isByHeads = attention === 'heads' || (attention === 'auto' && areDivisible && !isLargeMask);
    return (isByHeads ? attendByHeads : attendInRing)([q, k, v], settings, shards);
  };
}
