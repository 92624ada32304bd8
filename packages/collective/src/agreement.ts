import { AccError, type ReduceOp } from '@acc/contract';

/** Collectives as they are compared across ranks; the order is part of the wire format. */
export const COLLECTIVES = [
  'broadcast',
  'allReduce',
  'allGather',
  'reduceScatter',
  'barrier',
  'broadcastObject',
  'allGatherObject',
] as const;
export type CollectiveName = (typeof COLLECTIVES)[number];

const REDUCE_OPS: readonly ReduceOp[] = ['sum', 'mean', 'max', 'min', 'product'];
const DTYPES = ['float32', 'int32', 'bool', 'complex64', 'string'] as const;

/** What a rank is about to call. */
export interface CallDescription {
  readonly collective: CollectiveName;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly op?: ReduceOp;
  readonly fromRank?: number;
}

const MAX_RANK = 8;
/** Numbers of one description on the wire. */
export const DESCRIPTION_LENGTH = 5 + MAX_RANK;

/** A description as int32 numbers, all of the same count, so that ranks can exchange them whatever they call. */
export function encodeDescription(call: CallDescription): Int32Array {
  const words = new Int32Array(DESCRIPTION_LENGTH);
  words[0] = COLLECTIVES.indexOf(call.collective);
  words[1] = DTYPES.indexOf(call.dtype as (typeof DTYPES)[number]);
  words[2] = call.op === undefined ? -1 : REDUCE_OPS.indexOf(call.op);
  words[3] = call.fromRank ?? -1;
  words[4] = call.shape.length;
  words.set(call.shape.slice(0, MAX_RANK), 5);
  return words;
}

export function decodeDescription(words: Int32Array): CallDescription {
  const op = REDUCE_OPS[words[2]!];
  return {
    collective: COLLECTIVES[words[0]!]!,
    dtype: DTYPES[words[1]!] ?? 'unknown',
    ...(op && { op }),
    ...(words[3]! >= 0 && { fromRank: words[3]! }),
    shape: [...words.subarray(5, 5 + Math.min(words[4]!, MAX_RANK))],
  };
}

/**
 * Refuses calls that do not fit together.
 *
 * @param calls Every rank's call, by rank.
 * @throws AccError `ACC_COLLECTIVE_MISMATCH` with a line for each rank.
 */
export function requireAgreement(calls: readonly CallDescription[]): void {
  const first = calls[0]!;
  const freeRows = first.collective === 'allGather';
  const key = (call: CallDescription) => {
    const shape = freeRows ? [call.shape.length, ...call.shape.slice(1)] : call.shape;
    return JSON.stringify([call.collective, call.dtype, call.op, call.fromRank, shape]);
  };
  if (calls.every((call) => key(call) === key(first))) return;
  const lines = calls.map((call, rank) => `  rank ${rank}: ${formatCall(call)}`);
  throw new AccError('ACC_COLLECTIVE_MISMATCH', `Ranks called different collectives:\n${lines.join('\n')}`, {
    help: 'Every rank must call the same collectives in the same order, with the same dtype and shape.',
    details: { calls },
  });
}

function formatCall({ collective, dtype, shape, op, fromRank }: CallDescription): string {
  if (collective === 'barrier') return 'barrier()';
  const rest = [op && `'${op}'`, fromRank !== undefined && `from rank ${fromRank}`].filter(Boolean);
  const what = collective.endsWith('Object') ? ['object'] : [`${dtype}[${shape.join(',')}]`];
  return `${collective}(${[...what, ...rest].join(', ')})`;
}
