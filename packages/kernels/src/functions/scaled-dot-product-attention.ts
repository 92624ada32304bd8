import { tidy, type Tensor, type Tensor4D } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, type AttentionSettings } from '@acc/contract';
import { activeSlots } from '../slots.js';
import { attentionInPlainOps } from './attention-in-plain-ops.js';
import { requireFloat } from './check-input.js';
import { attentionToShards, dividedSequences } from './divided-sequences.js';

export interface AttentionOptions {
  /**
   * `[queries, keys]` or `[batch, heads, queries, keys]`; any dim may be 1. A boolean mask is true
   * where a query sees a key. A float32 mask is added to the scores. The output is zero for a query
   * that sees no key (all false, or all -Infinity).
   */
  readonly mask?: Tensor;
  /** Query i sees keys 0 to i only, in addition to the restrictions of `mask`. Default false. */
  readonly isCausal?: boolean;
  /** Probability of dropping an attention weight, in [0, 1). Default 0. */
  readonly dropout?: number;
  /** Factor of the scores. Default 1/√dim. */
  readonly scale?: number;
}

const NAME = 'scaledDotProductAttention';

/**
 * softmax(scale · q·kᵀ + mask) · v for each head (Vaswani et al. 2017). On `acc`, one native kernel
 * forward and one backward, with memory linear in the lengths (Dao et al. 2022). Other backends run
 * plain ops, which allocate `[batch, heads, queries, keys]`. So does `acc` for dropout, for a v
 * whose dim differs from q's, for gradients of `mask` and for second-order gradients. Caller
 * disposes.
 *
 * Where ranks have shards of sequences (`mesh: { context: n }`), all of them call it with theirs, and
 * queries see the keys of all shards. The mask of a query then has the keys of all shards. A mask of
 * keys alone may have this rank's.
 *
 * @param q float32 `[batch, heads, queries, dim]`.
 * @param k float32 `[batch, heads, keys, dim]`. If k has fewer heads, their number divides that of
 * q, and each head of k serves the same number of consecutive heads of q.
 * @param v float32 `[batch, heads, keys, dim]`, with as many heads as k.
 * @returns `[batch, heads, queries, dim]`.
 * @throws AccError `ACC_DTYPE_UNSUPPORTED`, `ACC_SHAPE_MISMATCH`, `ACC_INVALID_ARGUMENT`,
 * `ACC_UNKNOWN_OPTION`.
 */
export function scaledDotProductAttention(
  q: Tensor4D,
  k: Tensor4D,
  v: Tensor4D,
  options: AttentionOptions = {},
): Tensor4D {
  checkKeys(NAME, options, ['mask', 'isCausal', 'dropout', 'scale']);
  const { mask, isCausal = false, dropout = 0, scale = 1 / Math.sqrt(q.shape[3]) } = options;
  checkInputs([q, k, v], mask, dividedSequences()?.size ?? 1);
  if (!(dropout >= 0 && dropout < 1)) {
    throw new AccError(
      'ACC_INVALID_ARGUMENT',
      `${NAME}: dropout is ${dropout}, which is not a probability below 1.`,
      {
        help: 'Give a number that is at least 0 and less than 1.',
      },
    );
  }
  const settings: AttentionSettings = { mask, isCausal, dropout, scale };
  const attend = attentionToShards() ?? attendLocally;
  return attend(q, k, v, settings) as Tensor4D;
}

/** Attention to the keys of this rank. The arguments have been checked. */
export function attendLocally(q: Tensor, k: Tensor, v: Tensor, settings: AttentionSettings): Tensor {
  const fused = activeSlots().functions?.scaledDotProductAttention?.(q, k, v, settings);
  return fused ?? tidy(() => attentionInPlainOps(q, k, v, settings));
}

/** @param shards The number of shards of a sequence. A mask may have the keys of all. */
function checkInputs(
  [q, k, v]: readonly [Tensor4D, Tensor4D, Tensor4D],
  mask: Tensor | undefined,
  shards: number,
): void {
  for (const [name, x] of Object.entries({ q, k, v })) {
    requireFloat(NAME, name, x);
    if (x.rank !== 4) throw mismatch({ [name]: x }, 'Give [batch, heads, length, dim].');
  }
  const fits =
    k.shape[0] === q.shape[0] &&
    v.shape[0] === q.shape[0] &&
    q.shape[1] % k.shape[1] === 0 &&
    v.shape[1] === k.shape[1] &&
    v.shape[2] === k.shape[2] &&
    k.shape[3] === q.shape[3];
  if (!fits) {
    throw mismatch(
      { q, k, v },
      'k and v need the same number of heads, which must divide that of q. k needs the dim of q. v needs the length of k. All need the same batch.',
    );
  }
  if (!mask) return;
  if (mask.dtype !== 'bool') requireFloat(NAME, 'mask', mask);
  const full = [q.shape[0], q.shape[1], q.shape[2], k.shape[2]].slice(-mask.rank);
  const hasAllKeys = shards > 1 && mask.shape.at(-1) === shards * k.shape[2];
  const expected = hasAllKeys ? full.with(-1, shards * k.shape[2]) : full;
  const isBroadcast = mask.shape.every((length, dim) => length === 1 || length === expected[dim]);
  if (![2, 4].includes(mask.rank) || !isBroadcast) {
    throw mismatch(
      { q, k, mask },
      'Give a mask of shape [queries, keys] or [batch, heads, queries, keys]. Each size may also be 1.',
    );
  }
}

function mismatch(tensors: Readonly<Record<string, Tensor>>, help: string): AccError {
  const shapes = Object.entries(tensors).map(([name, { shape }]) => `${name} [${shape.join(', ')}]`);
  return new AccError(
    'ACC_SHAPE_MISMATCH',
    `${NAME}: the shapes do not fit together: ${shapes.join(', ')}.`,
    {
      help,
      details: Object.fromEntries(Object.entries(tensors).map(([name, { shape }]) => [name, shape])),
    },
  );
}
