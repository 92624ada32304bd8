import type { NativeDtype, ReduceOp } from '@acc/contract';
import {
  FLOATS,
  numbersOf,
  requireSame,
  taken,
  withTensor,
  type CollectiveCase,
  type CollectiveSubject,
  type Content,
} from './subject.js';

const OPS: readonly ReduceOp[] = ['sum', 'mean', 'max', 'min', 'product'];
/** Below, at and above the block size of engines, and also empty and odd sizes. */
const SIZES = [0, 1, 3, 1000, 20_011];

/** The reduction of the numbers of all ranks. */
function reduced(contents: readonly Content[], op: ReduceOp): Content {
  const { dtype, shape } = contents[0]!;
  const values = contents[0]!.values.slice();
  const combine = COMBINE[op];
  for (const { values: other } of contents.slice(1)) combine(values, other);
  if (op === 'mean') values.forEach((value, i) => (values[i] = value / contents.length));
  if (dtype === 'bool') values.forEach((value, i) => (values[i] = Math.min(value, 1)));
  return { values, shape, dtype };
}

type Combine = (values: Float32Array, other: Float32Array) => void;

function add(values: Float32Array, other: Float32Array): void {
  for (let i = 0; i < values.length; i++) values[i]! += other[i]!;
}

/** One loop each, which V8 compiles for its operation. Each changes `values`. */
const COMBINE: Readonly<Record<ReduceOp, Combine>> = {
  sum: add,
  mean: add,
  max(values, other) {
    for (let i = 0; i < values.length; i++) values[i] = Math.max(values[i]!, other[i]!);
  },
  min(values, other) {
    for (let i = 0; i < values.length; i++) values[i] = Math.min(values[i]!, other[i]!);
  },
  product(values, other) {
    for (let i = 0; i < values.length; i++) values[i]! *= other[i]!;
  },
};

function everyRank<T>({ collective }: CollectiveSubject<T>, make: (rank: number) => Content): Content[] {
  return Array.from({ length: collective.size }, (_, rank) => make(rank));
}

/** For a mean, numbers are multiples of the number of ranks, so the mean is an integer. */
const input = (op: ReduceOp, size: number) => (rank: number, shape: readonly number[], dtype: NativeDtype) =>
  numbersOf(rank, shape, dtype, op === 'mean' ? size : 1);

function eachDtype<T>(subject: CollectiveSubject<T>, op: ReduceOp, run: (dtype: NativeDtype) => void): void {
  for (const dtype of subject.dtypes) if (op !== 'mean' || FLOATS.includes(dtype)) run(dtype);
}

const allReduce = (op: ReduceOp): CollectiveCase => ({
  name: `allReduce ${op}`,
  run(subject) {
    const { collective } = subject;
    const { rank, size } = collective;
    eachDtype(subject, op, (dtype) => {
      for (const count of SIZES) {
        const contents = everyRank(subject, (r) => input(op, size)(r, [count], dtype));
        withTensor(subject, contents[rank]!, (x) => {
          const what = `${op} of ${dtype}[${count}]`;
          requireSame(taken(subject, collective.allReduce(x, op)), reduced(contents, op), what);
          requireSame(subject.read(x), contents[rank]!, `the argument of ${what}`);
        });
      }
    });
  },
});

const reduce = (op: ReduceOp): CollectiveCase => ({
  name: `reduce ${op}`,
  run(subject) {
    const { collective } = subject;
    const { rank, size } = collective;
    eachDtype(subject, op, (dtype) => {
      for (const [count, root] of [
        [0, 0],
        [7, size - 1],
        [20_011, 0],
      ] as const) {
        const contents = everyRank(subject, (r) => input(op, size)(r, [count], dtype));
        const result = withTensor(subject, contents[rank]!, (x) => collective.reduce(x, op, root));
        if ((result === null) === (rank === root))
          throw new Error(`rank ${rank} got the wrong one of result and null`);
        if (result !== null)
          requireSame(taken(subject, result), reduced(contents, op), `${op} of ${dtype}[${count}]`);
      }
    });
  },
});

const reduceScatter = (op: ReduceOp): CollectiveCase => ({
  name: `reduceScatter ${op}`,
  run(subject) {
    const { collective } = subject;
    const { rank, size } = collective;
    eachDtype(subject, op, (dtype) => {
      for (const rows of [0, 1, 2003]) {
        const contents = everyRank(subject, (r) => input(op, size)(r, [size * rows, 3], dtype));
        const full = reduced(contents, op);
        const part = {
          dtype,
          shape: [rows, 3],
          values: full.values.slice(rank * rows * 3, (rank + 1) * rows * 3),
        };
        withTensor(subject, contents[rank]!, (x) => {
          requireSame(
            taken(subject, collective.reduceScatter(x, op)),
            part,
            `${op} of ${dtype}[${size * rows},3]`,
          );
        });
      }
    });
  },
});

/** Sums that depend on the order of additions. All ranks must still get the same bits. */
const sameBits: CollectiveCase = {
  name: 'reductions give every rank the same bits',
  run(subject) {
    const { collective } = subject;
    for (const dtype of FLOATS.filter((one) => subject.dtypes.includes(one))) {
      for (const count of [5, 30_001]) {
        const values = Float32Array.from(
          { length: count },
          (_, i) => Math.sin(i * (collective.rank + 1)) / 3,
        );
        const sum = withTensor(subject, { values, shape: [count], dtype }, (x) => collective.allReduce(x));
        const all = collective.allGatherObject(taken(subject, sum).values);
        all.forEach((other, r) =>
          requireSame(
            { values: other, shape: [count], dtype },
            { values: all[0]!, shape: [count], dtype },
            `the sum of ${dtype}[${count}] on rank ${r}`,
          ),
        );
      }
    }
  },
};

const large = (bytes: number, maxRanks: number): CollectiveCase => ({
  name: `allReduce of ${bytes} bytes`,
  maxRanks,
  run(subject) {
    const { collective } = subject;
    const contents = everyRank(subject, (r) => numbersOf(r, [bytes / 4], 'float32'));
    withTensor(subject, contents[collective.rank]!, (x) => {
      requireSame(
        taken(subject, collective.allReduce(x)),
        reduced(contents, 'sum'),
        `a sum of ${bytes} bytes`,
      );
    });
  },
});

/** Sub-groups do without it: they pass tensors that are larger than what an engine sends at once. */
export const largest = large(64 * 1024 * 1024, 2);

export const reductionCases: readonly CollectiveCase[] = [
  ...OPS.map(allReduce),
  ...OPS.map(reduce),
  ...OPS.map(reduceScatter),
  sameBits,
  large(4 * 1024 * 1024 + 12, 7),
  largest,
];
