import {
  numbersOf,
  require,
  requireSame,
  sumsOf,
  taken,
  type CollectiveCase,
  type CollectiveSubject,
  type Content,
} from './subject.js';

const SHAPES = [[], [3], [10, 100], [20_011]];

function sumOf(contents: readonly Content[]): Content {
  const { shape, dtype } = contents[0]!;
  const sums = sumsOf(contents.map(({ values }) => values));
  return { values: dtype === 'bool' ? sums.map((sum) => Math.min(sum, 1)) : sums, shape, dtype };
}

const flat = ({ values, dtype }: Content): Content => ({ values, shape: [values.length], dtype });

/** Runs `body` for each element type and shape, with this rank's numbers and their sum over ranks. */
function eachContent<T>(subject: CollectiveSubject<T>, body: (own: Content, sum: Content) => void): void {
  const { rank, size } = subject.collective;
  for (const dtype of subject.dtypes) {
    for (const shape of SHAPES) {
      const contents = Array.from({ length: size }, (_, r) => numbersOf(r, shape, dtype));
      body(contents[rank]!, sumOf(contents));
    }
  }
}

const donated: CollectiveCase = {
  name: 'a donated tensor does not change other tensors that share its memory',
  run(subject) {
    const { collective, make, view, read, dispose } = subject;
    eachContent(subject, (own, sum) => {
      const what = `${own.dtype}[${own.shape.join(',')}]`;
      const alone = collective.allReduceAsync(make(own), 'sum', { donate: true });
      requireSame(taken(subject, alone.wait()), sum, `the sum of ${what}`);

      const source = make(own);
      const held = view(source);
      const ofSource = collective.allReduceAsync(source, 'sum', { donate: true });
      requireSame(taken(subject, ofSource.wait()), sum, `the sum of ${what} with a view`);
      requireSame(taken(subject, held), flat(own), `a view of ${what} after that was given away`);

      const origin = make(own);
      const ofView = collective.allReduce(view(origin), 'sum', { donate: true });
      requireSame(taken(subject, ofView), flat(sum), `the sum of a view of ${what}`);
      requireSame(read(origin), own, `${what} after a view of it was given away`);
      dispose(origin);
    });
  },
};

const donatedLists: CollectiveCase = {
  name: 'donated lists do not change other tensors that share their memory',
  run(subject) {
    const { collective, make, view, read, dispose } = subject;
    eachContent(subject, (own, sum) => {
      const what = `${own.dtype}[${own.shape.join(',')}]`;
      const [alone, source, origin, both, twice] = Array.from({ length: 5 }, () => make(own));
      const held = view(source!);
      // The list contains two tensors that share memory, and one tensor twice.
      const given = [alone!, source!, view(origin!), both!, view(both!), twice!, twice!];
      const expected = [sum, sum, flat(sum), sum, flat(sum), sum, sum];
      const results = collective.allReduceCoalesced(given, 'sum', { donate: true });
      require(results.length === given.length, 'another number of results');
      results.forEach((x, i) =>
        requireSame(taken(subject, x), expected[i]!, `the sum of tensor ${i}, ${what}`),
      );
      requireSame(taken(subject, held), flat(own), `a view of ${what} after that was given away`);
      requireSame(read(origin!), own, `${what} after a view of it was given away`);
      dispose(origin!);
    });
  },
};

const kept: CollectiveCase = {
  name: 'arguments do not change',
  run(subject) {
    const { collective, make, read, dispose } = subject;
    const { rank, size } = collective;
    const root = size - 1;
    for (const dtype of subject.dtypes) {
      const own = numbersOf(rank, [size * 5, 3], dtype);
      const x = make(own);
      const calls: Record<string, () => unknown> = {
        broadcast: () => collective.broadcast(x, root),
        allReduce: () => collective.allReduce(x),
        reduce: () => collective.reduce(x, 'sum', root),
        allGather: () => collective.allGather(x),
        gather: () => collective.gather(x, root),
        scatter: () => collective.scatter(rank === root ? x : null, root),
        reduceScatter: () => collective.reduceScatter(x),
        allToAll: () => collective.allToAll(x),
        broadcastCoalesced: () => collective.broadcastCoalesced([x, x], root),
        allReduceCoalesced: () => collective.allReduceCoalesced([x, x]),
        allGatherCoalesced: () => collective.allGatherCoalesced([x, x]),
        reduceScatterCoalesced: () => collective.reduceScatterCoalesced([x, x]),
      };
      for (const [verb, call] of Object.entries(calls)) {
        const results = [call()].flat().filter((result) => result !== null) as ReturnType<typeof make>[];
        for (const result of results) dispose(result);
        requireSame(read(x), own, `the argument of ${verb} of ${dtype}`);
      }
      dispose(x);
    }
  },
};

export const ownershipCases: readonly CollectiveCase[] = [donated, donatedLists, kept];
