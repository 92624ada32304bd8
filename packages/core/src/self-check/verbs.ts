import { type Tensor, tensor1d, tidy } from '@tensorflow/tfjs-core';
import { hostTensor, type Collective, type KernelLayer } from '@acc/contract';
import type { Check, Finding } from './check.js';

export const DTYPES = ['float32', 'int32', 'bf16'] as const;
export type CheckedDtype = (typeof DTYPES)[number];

/** Makes a tensor of whole numbers, which every dtype holds exactly. */
export type MakeTensor = (values: readonly number[]) => Tensor;

interface Case {
  readonly collective: Collective;
  readonly make: MakeTensor;
  readonly n: number;
  readonly rank: number;
  readonly hasMean: boolean;
}

/** The result of a verb, and the values that it should have. Null: this rank gets none. */
type Outcome = readonly [actual: Tensor | null, expected: readonly number[] | null];

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** 1 or 2, so that sums over many ranks are exact in 16 bits. */
const term = (rank: number, i: number): number => ((rank + i) % 2) + 1;
const terms = (rank: number, length: number): number[] => upTo(length).map((i) => term(rank, i));
const sums = (n: number, length: number): number[] =>
  upTo(length).map((i) => upTo(n).reduce((sum, rank) => sum + term(rank, i), 0));

/** Each verb with the values that it should give. Sums are over `term`. */
const VERBS: Readonly<Record<string, (given: Case) => readonly Outcome[]>> = {
  allReduce: ({ collective, make, n, rank, hasMean }) => {
    const factor = make([rank === n - 1 ? 2 : 1]);
    return [
      [collective.allReduce(make(terms(rank, 2)), 'sum'), sums(n, 2)],
      [collective.allReduce(make([rank]), 'max'), [n - 1]],
      [collective.allReduce(make([rank + 1]), 'min'), [1]],
      [collective.allReduce(factor, 'product'), [2]],
      // The mean of equal numbers is exact in 16 bits.
      ...(hasMean ? [[collective.allReduce(make([3]), 'mean'), [3]] as const] : []),
    ];
  },
  reduce: ({ collective, make, n, rank }) => [
    [collective.reduce(make(terms(rank, 2)), 'sum', n - 1), rank === n - 1 ? sums(n, 2) : null],
  ],
  broadcast: ({ collective, make, n, rank }) => [[collective.broadcast(make([rank, 7]), n - 1), [n - 1, 7]]],
  allGather: ({ collective, make, n, rank }) => [
    [collective.allGather(make([rank, 9])), upTo(n).flatMap((r) => [r, 9])],
    // Ranks have different numbers of rows.
    [
      collective.allGather(make(upTo(rank + 1).map(() => rank))),
      upTo(n).flatMap((r) => upTo(r + 1).map(() => r)),
    ],
  ],
  gather: ({ collective, make, n, rank }) => [
    [collective.gather(make([rank]), n - 1), rank === n - 1 ? upTo(n) : null],
  ],
  scatter: ({ collective, make, n, rank }) => [
    [collective.scatter(rank === n - 1 ? make(upTo(n)) : null, n - 1), [rank]],
  ],
  reduceScatter: ({ collective, make, n, rank }) => [
    [collective.reduceScatter(make(terms(rank, n)), 'sum'), sums(n, n).slice(rank, rank + 1)],
  ],
  allToAll: ({ collective, make, n, rank }) => [
    [collective.allToAll(make(upTo(n).map((to) => rank + to))), upTo(n).map((from) => from + rank)],
  ],
  sendRecv: ({ collective, make, n, rank }) => {
    if (n === 1) return [];
    const sending = collective.sendAsync(make([rank, rank]), (rank + 1) % n);
    const from = (rank + n - 1) % n;
    const received = collective.recv(from);
    sending.wait();
    return [[received, [from, from]]];
  },
  allReduceCoalesced: ({ collective, make, n, rank }) => {
    const [a, b] = collective.allReduceCoalesced([make(terms(rank, 1)), make(terms(rank, 3))], 'sum');
    return [
      [a!, sums(n, 1)],
      [b!, sums(n, 3)],
    ];
  },
  broadcastCoalesced: ({ collective, make, n, rank }) => {
    const [a, b] = collective.broadcastCoalesced([make([rank]), make([rank, 5])], n - 1);
    return [
      [a!, [n - 1]],
      [b!, [n - 1, 5]],
    ];
  },
  allGatherCoalesced: ({ collective, make, n, rank }) => {
    const [a, b] = collective.allGatherCoalesced([make([rank]), make([rank, 5])]);
    return [
      [a!, upTo(n)],
      [b!, upTo(n).flatMap((r) => [r, 5])],
    ];
  },
  reduceScatterCoalesced: ({ collective, make, n, rank }) => {
    const [a] = collective.reduceScatterCoalesced([make(terms(rank, n))], 'sum');
    return [[a!, sums(n, n).slice(rank, rank + 1)]];
  },
  reduceScatterFlat: ({ collective, make, n, rank }) => [
    [collective.reduceScatterFlat([make(terms(rank, n))], 'sum'), sums(n, n).slice(rank, rank + 1)],
  ],
  allGatherFlat: ({ collective, make, n, rank }) => [[collective.allGatherFlat([make([rank])]), upTo(n)]],
  subgroup: ({ collective, make, n }) => {
    const even = upTo(n).filter((r) => r % 2 === 0);
    const group = collective.subgroup(even);
    if (!group) return [];
    const sum = group.allReduce(make([1]), 'sum');
    group.close();
    return [[sum, [even.length]]];
  },
};

export const VERB_NAMES = Object.keys(VERBS);

/**
 * Calls every verb, and compares results with the values that they must have, bit for bit.
 *
 * @returns A line for each verb whose result is wrong.
 */
export function verbProblems(collective: Collective, make: MakeTensor, hasMean: boolean): string[] {
  const { rank, size: n } = collective;
  return VERB_NAMES.flatMap((verb) =>
    tidy(() => {
      const outcomes = VERBS[verb]!({ collective, make, n, rank, hasMean });
      return outcomes.flatMap(([actual, expected]) => {
        const values = actual && Array.from(actual.dataSync());
        if (JSON.stringify(values) === JSON.stringify(expected)) return [];
        return [`${verb} gave ${shown(values)}, not ${shown(expected)}`];
      });
    }),
  );
}

const shown = (values: readonly number[] | null): string => (values ? `[${values.join(', ')}]` : 'nothing');

/** The check of all verbs with tensors of a dtype. */
export function verbCheck(dtype: CheckedDtype): Check {
  return {
    name: `collectives ${dtype}`,
    run: ({ collective, kernels }): Finding => {
      const make = makerOf(dtype, kernels);
      if (!make) return { leftOut: `the backend ${kernels.backendName} has no tensors of ${dtype}` };
      const problems = verbProblems(collective, make, dtype !== 'int32');
      return { problem: problems.join('; ') || undefined, note: `${VERB_NAMES.length} verbs by value` };
    },
  };
}

/** Undefined if the backend has no such tensors. */
function makerOf(dtype: CheckedDtype, kernels: KernelLayer): MakeTensor | undefined {
  if (dtype !== 'bf16') return (values) => tensor1d([...values], dtype);
  const make = (values: readonly number[]): Tensor =>
    kernels.fromNative(hostTensor(bf16Bits(values), 'bfloat16', [values.length]), 'float32');
  const sample = make([1]);
  const native = kernels.toNative(sample);
  const isKept = native.dtype === 'bfloat16';
  native.dispose();
  sample.dispose();
  return isKept ? make : undefined;
}

/** bfloat16 is the upper half of float32. */
function bf16Bits(values: readonly number[]): Uint16Array {
  const bits = new Uint32Array(Float32Array.from(values).buffer);
  return Uint16Array.from(bits, (word) => word >>> 16);
}
