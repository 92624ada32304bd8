import type { NativeDtype } from '@acc/contract';
import {
  joinedValues,
  numbersOf,
  requireSame,
  taken,
  withTensor,
  type CollectiveCase,
  type CollectiveSubject,
  type Content,
} from './subject.js';

/** Concatenates tensors along dim 0. */
function joined(contents: readonly Content[]): Content {
  const { dtype, shape } = contents[0]!;
  const rows = contents.reduce((sum, content) => sum + content.shape[0]!, 0);
  return {
    values: joinedValues(contents.map(({ values }) => values)),
    shape: [rows, ...shape.slice(1)],
    dtype,
  };
}

/** The rows from `start` to `end`. */
function rowsOf({ values, shape, dtype }: Content, start: number, end: number): Content {
  const width = shape.slice(1).reduce((product, n) => product * n, 1);
  return { values: values.slice(start * width, end * width), shape: [end - start, ...shape.slice(1)], dtype };
}

function ranksOf<T>({ collective }: CollectiveSubject<T>): number[] {
  return Array.from({ length: collective.size }, (_, rank) => rank);
}

const eachDtype = (
  name: string,
  body: <T>(subject: CollectiveSubject<T>, dtype: NativeDtype) => void,
): CollectiveCase => ({
  name,
  run(subject) {
    for (const dtype of subject.dtypes) body(subject, dtype);
  },
});

const broadcast = eachDtype('broadcast', (subject, dtype) => {
  const { collective } = subject;
  for (const root of new Set([0, collective.size - 1])) {
    for (const shape of [[], [0], [3], [7, 0, 2], [3001, 7]]) {
      const expected = numbersOf(root, shape, dtype);
      withTensor(subject, numbersOf(collective.rank, shape, dtype), (x) => {
        const what = `${dtype}[${shape.join(',')}] of rank ${root}`;
        requireSame(taken(subject, collective.broadcast(x, root)), expected, what);
      });
    }
  }
});

const allGather = eachDtype('allGather', (subject, dtype) => {
  const { collective } = subject;
  const shapes: readonly ((rank: number) => number[])[] = [
    () => [3],
    () => [1001, 5],
    () => [0],
    () => [2, 0],
    // Uneven numbers of rows, including none.
    (rank) => [rank, 3],
    (rank) => [rank === 0 ? 0 : 4003 * rank],
  ];
  for (const shapeOf of shapes) {
    const expected = joined(ranksOf(subject).map((rank) => numbersOf(rank, shapeOf(rank), dtype)));
    withTensor(subject, numbersOf(collective.rank, shapeOf(collective.rank), dtype), (x) => {
      requireSame(taken(subject, collective.allGather(x)), expected, `${dtype} by ${String(shapeOf)}`);
    });
  }
  withTensor(subject, numbersOf(collective.rank, [], dtype), (x) => {
    const scalars = joined(ranksOf(subject).map((rank) => numbersOf(rank, [1], dtype)));
    requireSame(taken(subject, collective.allGather(x)), scalars, `scalars of ${dtype}`);
  });
});

const gather = eachDtype('gather', (subject, dtype) => {
  const { collective } = subject;
  const root = collective.size - 1;
  for (const rowsOfRank of [(rank: number) => rank + 1, () => 901, () => 0]) {
    const expected = joined(ranksOf(subject).map((rank) => numbersOf(rank, [rowsOfRank(rank), 3], dtype)));
    const own = numbersOf(collective.rank, [rowsOfRank(collective.rank), 3], dtype);
    const result = withTensor(subject, own, (x) => collective.gather(x, root));
    if ((result === null) === (collective.rank === root))
      throw new Error('null on the root, or a result on another rank');
    if (result !== null) requireSame(taken(subject, result), expected, `${dtype} by ${String(rowsOfRank)}`);
  }
});

const scatter = eachDtype('scatter', (subject, dtype) => {
  const { collective } = subject;
  const { rank, size } = collective;
  const root = size - 1;
  for (const rows of [0, 1, 1501]) {
    const full = numbersOf(root, [size * rows, 3], dtype);
    const x = rank === root ? subject.make(full) : null;
    const expected = rowsOf(full, rank * rows, (rank + 1) * rows);
    requireSame(taken(subject, collective.scatter(x, root)), expected, `${dtype}, ${rows} rows`);
    if (x !== null) subject.dispose(x);
  }
});

const allToAll = eachDtype('allToAll', (subject, dtype) => {
  const { collective } = subject;
  const { rank, size } = collective;
  for (const rows of [0, 1, 1501]) {
    const of = (sender: number) => numbersOf(sender, [size * rows, 2], dtype);
    const expected = joined(ranksOf(subject).map((r) => rowsOf(of(r), rank * rows, (rank + 1) * rows)));
    withTensor(subject, of(rank), (x) => {
      requireSame(taken(subject, collective.allToAll(x)), expected, `${dtype}, ${rows} rows`);
    });
  }
});

const allToAllUneven = eachDtype('allToAll of uneven parts', (subject, dtype) => {
  const { collective } = subject;
  for (const scale of [0, 1, 701]) {
    const sentBy = (sender: number) => ranksOf(subject).map((to) => scale * ((sender + 2 * to) % 3));
    const of = (sender: number) =>
      numbersOf(sender, [sentBy(sender).reduce((sum, n) => sum + n, 0), 2], dtype);
    const parts = ranksOf(subject).map((sender) => {
      const before = sentBy(sender)
        .slice(0, collective.rank)
        .reduce((sum, n) => sum + n, 0);
      return rowsOf(of(sender), before, before + sentBy(sender)[collective.rank]!);
    });
    withTensor(subject, of(collective.rank), (x) => {
      const result = collective.allToAll(x, sentBy(collective.rank));
      requireSame(taken(subject, result), joined(parts), `${dtype}, scale ${scale}`);
    });
  }
});

export const movementCases: readonly CollectiveCase[] = [
  broadcast,
  allGather,
  gather,
  scatter,
  allToAll,
  allToAllUneven,
];
