import { dispose, slice, tidy, transpose, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionSettings } from '@acc/contract';
import { collectiveOnTape } from '@acc/collective';
import { attendLocally } from '@acc/kernels';
import type { SequenceShards } from '../sequence-shards.js';
import { maskWithoutGradient } from '../errors.js';
import { columnsOf, hasRows, withoutGradient } from '../masks.js';
import { toHeads, toShards } from './exchange.js';

/**
 * Attention in which each rank gets whole sequences of its share of the heads (Jacobs et al. 2023).
 * Two all-to-alls forward and two backward.
 */
export function attendByHeads(
  qkv: readonly [q: Tensor, k: Tensor, v: Tensor],
  settings: AttentionSettings,
  shards: SequenceShards,
): Tensor {
  return tidy(() => {
    const mask = settings.mask && maskOfHeads(settings.mask, qkv, shards);
    const ofHeads = toHeads(qkv, shards);
    const [q, k, v] = ofHeads as [Tensor, Tensor, Tensor];
    const output = attendLocally(q, k, v, { ...settings, mask });
    // The exchange back needs memory, too.
    dispose(ofHeads);
    return toShards(output, shards);
  });
}

/** The mask of whole sequences for this rank's heads. */
function maskOfHeads(input: Tensor, [, k]: readonly Tensor[], shards: SequenceShards): Tensor {
  const { rank, size } = shards.ranks;
  const columns = columnsOf(input, k!, size);
  let mask = withoutGradient(input);
  if (columns === 'own') mask = gathered(mask, mask.rank - 1, shards);
  else if (hasRows(mask)) mask = gathered(mask, mask.rank - 2, shards);
  const heads = mask.rank === 4 ? mask.shape[1]! : 1;
  if (heads === 1) return mask;
  const local = heads / size;
  return slice(mask, [0, rank * local, 0, 0], [-1, local, -1, -1]);
}

function refuseGradient(): never {
  throw maskWithoutGradient();
}

/** Joins the ranks' masks along a dim. */
function gathered(x: Tensor, dim: number, { ranks, kernels }: SequenceShards): Tensor {
  const first = [dim, ...x.shape.map((_, each) => each).filter((each) => each !== dim)];
  const all = collectiveOnTape(
    transpose(x, first),
    { run: (local) => ranks.allGather(local, { even: true }), gradient: refuseGradient },
    kernels,
  );
  return transpose(
    all,
    first.map((_, each) => first.indexOf(each)),
  );
}
