import { isAccError, type NativeDtype } from '@acc/contract';
import {
  numbersOf,
  require,
  requireSame,
  taken,
  withTensor,
  type CollectiveCase,
  type CollectiveSubject,
} from './subject.js';

/** More elements than an engine buffers for a receiver that does not come. */
const LONG = 300_001;

const ring: CollectiveCase = {
  name: 'send and recv around a ring',
  minRanks: 2,
  run(subject) {
    const { collective } = subject;
    const { rank, size } = collective;
    const previous = (rank + size - 1) % size;
    const shapes = [[], [0], [3, 5], [LONG]];
    for (const dtype of subject.dtypes) {
      for (const shape of shapes) {
        const own = subject.make(numbersOf(rank, shape, dtype));
        const sending = collective.sendAsync(own, (rank + 1) % size);
        const what = `${dtype}[${shape.join(',')}] from rank ${previous}`;
        requireSame(taken(subject, collective.recv(previous)), numbersOf(previous, shape, dtype), what);
        sending.wait();
        subject.dispose(own);
      }
    }
  },
};

const inOrder: CollectiveCase = {
  name: 'messages between two ranks arrive in order',
  minRanks: 2,
  run(subject) {
    const { collective } = subject;
    const sizes = [1, LONG, 2, 0, 7];
    if (collective.rank === 0) {
      const sent = sizes.map((count) => subject.make(numbersOf(0, [count], 'float32')));
      const sending = sent.map((x) => collective.sendAsync(x, 1));
      for (const one of sending) one.wait();
      for (const x of sent) subject.dispose(x);
    } else if (collective.rank === 1) {
      const coming = sizes.map(() => collective.recvAsync(0));
      // Waited for in a different order than they were sent.
      const results = coming
        .reverse()
        .map((one) => one.wait())
        .reverse();
      results.forEach((x, i) =>
        requireSame(taken(subject, x), numbersOf(0, [sizes[i]!], 'float32'), `message ${i}`),
      );
    }
    collective.barrier();
  },
};

const handles: CollectiveCase = {
  name: 'several pending collectives can be waited for in any order',
  run(subject) {
    const { collective } = subject;
    const { rank, size } = collective;
    const xs = [1, 50_001, 3, 400_003].map((count) => subject.make(numbersOf(rank, [count], 'float32')));
    const sums = xs.map((x) => collective.allReduceAsync(x));
    const gathered = collective.allGatherAsync(xs[0]!);
    const max = collective.allReduce(xs[2]!, 'max');
    subject.dispose(max);
    subject.dispose(gathered.wait());
    for (const sum of [...sums].reverse()) {
      require(sum.wait() === sum.wait(), 'a second wait gives another result');
      require(sum.isDone, 'not done after wait');
    }
    sums.forEach((sum) => {
      const { values } = taken(subject, sum.wait());
      let expected = 0;
      for (let r = 0; r < size; r++) expected += numbersOf(r, [1], 'float32').values[0]!;
      require(values[0] === expected, `the sum is ${values[0]}, expected ${expected}`);
    });
    for (const x of xs) subject.dispose(x);
  },
};

const progress: CollectiveCase = {
  name: 'a collective makes progress without a wait',
  run(subject) {
    const { collective } = subject;
    withTensor(subject, numbersOf(collective.rank, [100_003], 'float32'), (x) => {
      const sum = collective.allReduceAsync(x);
      const deadline = Date.now() + 240_000;
      while (!sum.isDone) require(Date.now() < deadline, 'never done without a wait');
      subject.dispose(sum.wait());
    });
  },
};

function mixed<T>(subject: CollectiveSubject<T>, rank: number): { dtype: NativeDtype; shape: number[] }[] {
  const { size } = subject.collective;
  const dtypes = subject.dtypes.filter((dtype) => dtype !== 'bool');
  return [[size], [2 * size, 3], [size, 1, 5], [0]].map((shape, i) => ({
    dtype: dtypes[i % dtypes.length]!,
    shape,
    rank,
  }));
}

const coalesced: CollectiveCase = {
  name: 'coalesced calls give the results of single calls',
  run(subject) {
    const { collective } = subject;
    const xs = mixed(subject, collective.rank).map(({ shape, dtype }) =>
      subject.make(numbersOf(collective.rank, shape, dtype)),
    );
    const last = collective.size - 1;
    const pairs = [
      [collective.broadcastCoalesced(xs, last), xs.map((x) => collective.broadcast(x, last))],
      [collective.allReduceCoalesced(xs), xs.map((x) => collective.allReduce(x))],
      [collective.allGatherCoalesced(xs), xs.map((x) => collective.allGather(x))],
      [collective.reduceScatterCoalesced(xs), xs.map((x) => collective.reduceScatter(x))],
      [collective.allReduceCoalesced([]), []],
      [
        collective.allReduceCoalesced(
          mixed(subject, collective.rank).map((x) =>
            subject.make(numbersOf(collective.rank, x.shape, x.dtype)),
          ),
          'max',
          { donate: true },
        ),
        xs.map((x) => collective.allReduce(x, 'max')),
      ],
    ] as const;
    for (const [together, single] of pairs) {
      require(together.length === single.length, 'another number of results');
      together.forEach((x, i) => requireSame(taken(subject, x), taken(subject, single[i]!), `tensor ${i}`));
    }
    for (const x of xs) subject.dispose(x);
  },
};

const objects: CollectiveCase = {
  name: 'objects',
  run({ collective }) {
    const { rank, size } = collective;
    const of = (r: number) => ({ rank: r, text: 'é'.repeat(1000 * r), data: Float32Array.of(r, Number.NaN) });
    const all = collective.allGatherObject(of(rank));
    require(all.length === size &&
      all.every((one, r) => one.rank === r && one.text.length === 1000 * r), 'gathered');
    const given = collective.broadcastObject(of(rank), size - 1);
    require(given.rank === size - 1 && given.data[0] === size - 1, 'broadcast');
    collective.barrier();
  },
};

/**
 * Every rank gets the error. Afterwards the group either remains usable or keeps failing with the
 * same error, so this is the last case.
 */
const mismatch: CollectiveCase = {
  name: 'different calls are an error on every rank',
  minRanks: 2,
  run(subject) {
    const { collective } = subject;
    const { rank, size } = collective;
    const odd = rank === size - 1;
    const x = subject.make(numbersOf(rank, [odd ? 3 : 4], 'float32'));
    const mistakes: readonly (() => unknown)[] = [
      () => collective.allReduce(x),
      () => collective.allReduce(x, odd ? 'max' : 'sum'),
      () => collective.broadcast(x, odd ? 1 : 0),
      () => (odd ? collective.barrier() : collective.allGather(x)),
      () => (odd ? collective.allGatherObject(1) : collective.allReduce(x)),
    ];
    for (const [i, mistake] of mistakes.entries()) {
      let found: unknown;
      try {
        mistake();
      } catch (error) {
        found = error;
      }
      require(isAccError(found, 'ACC_COLLECTIVE_MISMATCH'), `mistake ${i} gave ${String(found)}`);
      const lines = (found as Error).message
        .split('\n')
        .filter((line) => /^ {2}rank \d+( \(world rank \d+\))?:/.test(line));
      require(lines.length === size, `mistake ${i} names ${lines.length} ranks`);
    }
    subject.dispose(x);
    try {
      collective.barrier();
    } catch (error) {
      require(isAccError(error, 'ACC_COLLECTIVE_MISMATCH'), `a later call gave ${String(error)}`);
    }
  },
};

export const protocolCases: readonly CollectiveCase[] = [
  ring,
  inOrder,
  handles,
  progress,
  coalesced,
  objects,
  mismatch,
];
