import { isAccError, type Pending } from '@acc/contract';
import {
  joinedValues,
  numbersOf,
  require,
  requireSame,
  sumsOf,
  taken,
  type CollectiveCase,
  type CollectiveSubject,
  type Content,
} from './subject.js';

interface Example {
  readonly own: Content;
  readonly scattered: Content;
  readonly gathered: Content;
}

/** This rank's tensor of `size * rows` rows, and the results for the tensors of all ranks. */
function exampleOf<T>({ collective }: CollectiveSubject<T>, rows: number, dtype: Content['dtype']): Example {
  const { rank, size } = collective;
  const shape = [size * rows, 3];
  const all = Array.from({ length: size }, (_, r) => numbersOf(r, shape, dtype));
  const sums = sumsOf(all.map((one) => one.values));
  const values = (dtype === 'bool' ? sums.map((sum) => Math.min(sum, 1)) : sums).slice(
    rank * rows * 3,
    (rank + 1) * rows * 3,
  );
  return {
    own: all[rank]!,
    scattered: { values, shape: [rows, 3], dtype },
    gathered: { values: joinedValues(all.map((one) => one.values)), shape: [size * size * rows, 3], dtype },
  };
}

function eachExample<T>(subject: CollectiveSubject<T>, body: (example: Example, what: string) => void): void {
  for (const dtype of subject.dtypes) {
    for (const rows of [1, 701]) body(exampleOf(subject, rows, dtype), `${dtype}, ${rows} rows`);
  }
}

/** Reads the result of a call on a new tensor, which is donated. */
function ofGiven<T>(subject: CollectiveSubject<T>, own: Content, call: (x: T) => Pending<T>): Content {
  return taken(subject, call(subject.make(own)).wait());
}

/** A tensor with the shape and dtype of `content` and other values. */
const placeOf = <T>(subject: CollectiveSubject<T>, { shape, dtype }: Content): T =>
  subject.make(numbersOf(5, shape, dtype));

const donated: CollectiveCase = {
  name: 'reduceScatter and allGather with donate and agreed',
  run(subject) {
    const { collective, make, view, read, dispose } = subject;
    eachExample(subject, ({ own, scattered, gathered }, what) => {
      for (const agreed of [false, true]) {
        const options = { donate: true, agreed };
        const part = ofGiven(subject, own, (x) => collective.reduceScatterAsync(x, 'sum', options));
        requireSame(part, scattered, `the part of ${what}`);
        const full = ofGiven(subject, own, (x) => collective.allGatherAsync(x, options));
        requireSame(full, gathered, `the whole of ${what}`);
      }
      requireSame(
        ofGiven(subject, own, (x) => collective.allGatherAsync(x, { donate: true, even: true })),
        gathered,
        `the whole of as many rows, ${what}`,
      );
      // Tensors that share the memory keep their values.
      const source = make(own);
      const held = view(source);
      dispose(collective.reduceScatter(source, 'sum', { donate: true }));
      requireSame(taken(subject, held), { ...own, shape: [own.values.length] }, `a view of ${what}`);
      const kept = make(own);
      dispose(collective.allGather(kept, { even: true }));
      requireSame(read(kept), own, `the argument, ${what}`);
      dispose(kept);
    });
  },
};

const placed: CollectiveCase = {
  name: 'reduceScatter and allGather write into given tensors',
  run(subject) {
    const { collective, make, view, dispose } = subject;
    eachExample(subject, ({ own, scattered, gathered }, what) => {
      const x = make(own);
      const part = collective.reduceScatter(x, 'sum', { into: placeOf(subject, scattered) });
      requireSame(taken(subject, part), scattered, `the part of ${what}`);
      for (const even of [false, true]) {
        const full = collective.allGather(x, { even, into: placeOf(subject, gathered) });
        requireSame(taken(subject, full), gathered, `the whole of ${what}`);
      }
      // A view of the place keeps its values.
      const place = placeOf(subject, scattered);
      const held = view(place);
      const before = subject.read(held);
      dispose(collective.reduceScatter(x, 'sum', { into: place }));
      requireSame(taken(subject, held), before, `a view of the place, ${what}`);
      const parts = collective.reduceScatterCoalesced([x, x], 'sum', {
        into: [placeOf(subject, scattered), placeOf(subject, scattered)],
      });
      const wholes = collective.allGatherCoalesced([x, x], {
        into: [placeOf(subject, gathered), placeOf(subject, gathered)],
      });
      for (const one of parts) requireSame(taken(subject, one), scattered, `a part of two, ${what}`);
      for (const one of wholes) requireSame(taken(subject, one), gathered, `a whole of two, ${what}`);
      dispose(x);
    });
  },
};

const narrow: CollectiveCase = {
  name: 'reduceScatter and allGather with wireDtype',
  run(subject) {
    const { collective, make, dispose } = subject;
    const { own, scattered, gathered } = exampleOf(subject, 701, 'float32');
    const x = make(own);
    // 1 + 2^-10 has more digits than bfloat16 can hold, and exactly as many as float16 can.
    const fine = make({
      values: new Float32Array(collective.size).fill(1 + 2 ** -10),
      shape: [collective.size],
      dtype: 'float32',
    });
    for (const wireDtype of ['bfloat16', 'float16'] as const) {
      for (const into of [false, true]) {
        const part = collective.reduceScatter(x, 'sum', {
          wireDtype,
          ...(into && { into: placeOf(subject, scattered) }),
        });
        requireSame(taken(subject, part), scattered, `the part in ${wireDtype}`);
        const whole = collective.allGather(x, {
          wireDtype,
          even: into,
          ...(into && { into: placeOf(subject, gathered) }),
        });
        requireSame(taken(subject, whole), gathered, `the whole in ${wireDtype}`);
      }
      const [part] = collective.reduceScatterCoalesced([x], 'sum', { wireDtype });
      requireSame(taken(subject, part!), scattered, `a part in ${wireDtype}`);
      const [whole] = collective.allGatherCoalesced([x], { wireDtype });
      requireSame(taken(subject, whole!), gathered, `a whole in ${wireDtype}`);
      const { values } = taken(subject, collective.allGather(fine, { wireDtype }));
      const isRounded = collective.engine !== 'single' && wireDtype === 'bfloat16';
      require(values[0] === (isRounded ? 1 : 1 + 2 ** -10), `${wireDtype} carries ${values[0]}`);
    }
    dispose(x);
    dispose(fine);
  },
};

const lists: CollectiveCase = {
  name: 'coalesced reduceScatter and allGather with donate',
  run(subject) {
    const { collective, make } = subject;
    eachExample(subject, ({ own, scattered, gathered }, what) => {
      for (const agreed of [false, true]) {
        const options = { donate: true, agreed };
        const parts = collective.reduceScatterCoalesced([make(own), make(own)], 'sum', options);
        for (const one of parts) requireSame(taken(subject, one), scattered, `a part, ${what}`);
        const wholes = collective.allGatherCoalesced([make(own), make(own)], options);
        for (const one of wholes) requireSame(taken(subject, one), gathered, `a whole, ${what}`);
      }
    });
  },
};

const flat: CollectiveCase = {
  name: 'lists are taken as one flat tensor',
  run(subject) {
    const { collective, make, dispose } = subject;
    const { rank, size } = collective;
    for (const dtype of subject.dtypes) {
      // The shards of ranks begin inside of tensors, and some tensors lie in several shards.
      const shapes = [[size * 701, 3], [7], [size * 12 - 7]];
      const ofRank = (r: number) => shapes.map((shape) => numbersOf(r, shape, dtype));
      const all = Array.from({ length: size }, (_, r) => joinedValues(ofRank(r).map((one) => one.values)));
      const sums = sumsOf(all);
      const length = sums.length / size;
      const sumsOrAny = dtype === 'bool' ? sums.map((sum) => Math.min(sum, 1)) : sums;
      const part = sumsOrAny.slice(rank * length, (rank + 1) * length);
      const expected = {
        reduceScatterFlat: { values: part, shape: [length], dtype },
        allGatherFlat: { values: joinedValues(all), shape: [sums.length * size], dtype },
      };
      for (const donate of [false, true]) {
        const given = () => ofRank(rank).map((one) => make(one));
        const lists = [given(), given()] as const;
        const results = {
          reduceScatterFlat: collective.reduceScatterFlat(lists[0], 'sum', { donate }),
          allGatherFlat: collective.allGatherFlat(lists[1], { donate }),
        };
        for (const verb of ['reduceScatterFlat', 'allGatherFlat'] as const) {
          const about = `${verb} of ${dtype}, donate ${donate}`;
          requireSame(taken(subject, results[verb]), expected[verb], about);
        }
        if (!donate) for (const x of lists.flat()) dispose(x);
      }
    }
    for (const more of [narrowFlat, placedFlat]) more(subject);
    const x = make(numbersOf(rank, [size], 'float32'));
    const other = make(numbersOf(rank, [size], 'int32'));
    for (const verb of ['reduceScatterFlat', 'allGatherFlat'] as const) {
      requireCode(() => collective[verb]([x, other]), 'ACC_COLLECTIVE_DTYPE');
      requireCode(() => collective[verb]([]), 'ACC_COLLECTIVE_SHAPE');
    }
    for (const one of [x, other]) dispose(one);
  },
};

function placedFlat<T>(subject: CollectiveSubject<T>): void {
  const { collective, make } = subject;
  const { rank, size } = collective;
  const all = Float32Array.from({ length: 3 * size }, (_, i) => i);
  const expected = { values: all, shape: [all.length], dtype: 'float32' } as const;
  const given = [make({ values: all.slice(3 * rank, 3 * rank + 3), shape: [3], dtype: 'float32' })];
  const into = placeOf(subject, expected);
  const gathered = collective.allGatherFlat(given, { donate: true, into });
  requireSame(taken(subject, gathered), expected, 'allGatherFlat into a place');
}

/** Small integers travel exactly in both types. */
function narrowFlat<T>(subject: CollectiveSubject<T>): void {
  const { collective, make } = subject;
  const { rank, size } = collective;
  const values = (r: number) => Float32Array.from({ length: size * 3 }, (_, i) => i + r);
  const all = Array.from({ length: size }, (_, r) => [...values(r)]);
  const sums = all[0]!.map((_, i) => all.reduce((sum, one) => sum + one[i]!, 0));
  for (const wireDtype of ['bfloat16', 'float16'] as const) {
    const given = () => {
      const own = values(rank);
      return [own.slice(0, 2), own.slice(2)].map((part) =>
        make({ values: part, shape: [part.length], dtype: 'float32' }),
      );
    };
    const options = { donate: true, wireDtype };
    const part = Float32Array.from(sums.slice(rank * 3, (rank + 1) * 3));
    const reduced = taken(subject, collective.reduceScatterFlat(given(), 'sum', options));
    requireSame(reduced, { values: part, shape: [3], dtype: 'float32' }, `reduceScatterFlat by ${wireDtype}`);
    const gathered = taken(subject, collective.allGatherFlat(given(), options));
    const flatOfAll = Float32Array.from(all.flat());
    const expected = { values: flatOfAll, shape: [flatOfAll.length], dtype: 'float32' } as const;
    requireSame(gathered, expected, `allGatherFlat by ${wireDtype}`);
  }
}

const refused: CollectiveCase = {
  name: 'given tensors of the wrong shape or dtype are refused',
  run(subject) {
    const { collective, make, dispose } = subject;
    const { size } = collective;
    const x = make(numbersOf(0, [size, 2], 'float32'));
    const place = make(numbersOf(0, [3, 5], 'float32'));
    const ofOther = make(numbersOf(0, [1, 2], 'int32'));
    const calls: readonly (readonly [string, () => unknown])[] = [
      ['ACC_COLLECTIVE_SHAPE', () => collective.reduceScatter(x, 'sum', { into: place })],
      ['ACC_COLLECTIVE_DTYPE', () => collective.reduceScatter(x, 'sum', { into: ofOther })],
      ['ACC_COLLECTIVE_SHAPE', () => collective.allGather(x, { even: true, into: place })],
      ['ACC_COLLECTIVE_SHAPE', () => collective.allGather(x, { into: place })],
      ['ACC_COLLECTIVE_SHAPE', () => collective.allGatherCoalesced([x], { into: [place] })],
      ['ACC_COLLECTIVE_SHAPE', () => collective.reduceScatterCoalesced([x], 'sum', { into: [] })],
      ['ACC_COLLECTIVE_SHAPE', () => collective.allGatherFlat([x], { into: place })],
      ['ACC_COLLECTIVE_DTYPE', () => collective.allGather(ofOther, { wireDtype: 'float16' })],
    ];
    for (const [code, call] of calls) requireCode(call, code);
    // The group remains usable, and the caller still owns the refused tensors.
    collective.barrier();
    for (const one of [x, place, ofOther]) dispose(one);
  },
};

function requireCode(call: () => unknown, code: string): void {
  let found: unknown;
  try {
    call();
  } catch (error) {
    found = error;
  }
  require(isAccError(found, code), `${String(found)} in place of ${code}`);
}

/** The cases for `reduceScatter` and `allGather` with each of their options. */
export const shardCases: readonly CollectiveCase[] = [donated, placed, narrow, lists, flat, refused];
