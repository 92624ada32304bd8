import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { columns } from './columns.js';
import { DataLoader } from './data-loader.js';
import { collect, expectNoTensorsLeft, plain } from './testing/collect.js';

const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);
const code = (value: string) => expect.objectContaining({ code: value });

describe('DataLoader over each kind of dataset', () => {
  const expected = [[0, 1], [2, 3], [4]];

  async function* generate() {
    yield* numbers(5);
  }
  it.each<[string, ConstructorParameters<typeof DataLoader>[0]]>([
    ['an array', numbers(5)],
    ['a typed array', Int32Array.from(numbers(5))],
    ['an iterable', new Set(numbers(5))],
    ['an iterable of promises', new Set(numbers(5).map(async (i) => i))],
    ['an async iterable', { [Symbol.asyncIterator]: generate }],
    ['a function that returns an iterable', () => numbers(5)],
    ['a generator function', generate],
    ['a function that returns a promise', async () => numbers(5)],
    ['{length, get}', { length: 5, get: (i: number) => i }],
    ['{length, async get}', { length: 5, get: async (i: number) => i }],
  ])('%s, over several epochs, without a leak', async (_, dataset) => {
    const loader = new DataLoader(dataset, { batchSize: 2 });
    await expectNoTensorsLeft(async () => {
      expect(await collect(loader)).toEqual(expected);
      expect(await collect(loader)).toEqual(expected);
    });
  });

  it('a tensor, by rows', async () => {
    const x = tf.tensor2d(numbers(10), [5, 2], 'int32');
    const loader = new DataLoader(x, { batchSize: 2 });
    await expectNoTensorsLeft(async () => {
      expect(await collect(loader)).toEqual([
        [
          [0, 1],
          [2, 3],
        ],
        [
          [4, 5],
          [6, 7],
        ],
        [[8, 9]],
      ]);
      for await (const batch of loader) {
        expect(batch.dtype).toBe('int32');
        batch.dispose();
      }
    });
    x.dispose();
  });

  it('a nested record of tensors, whose rows stay together', async () => {
    const data = { xs: { a: tf.range(0, 7), b: [tf.range(0, 14).reshape([7, 2])] }, ys: tf.range(10, 17) };
    const loader = new DataLoader(data, { batchSize: 3, shuffle: true });
    await expectNoTensorsLeft(async () => {
      const batches = (await collect(loader)) as { xs: { a: number[]; b: number[][][] }; ys: number[] }[];
      const a = batches.flatMap(({ xs }) => xs.a);
      expect(a.toSorted()).toEqual(numbers(7));
      expect(a).not.toEqual(numbers(7));
      expect(batches.flatMap(({ ys }) => ys)).toEqual(a.map((i) => i + 10));
      expect(batches.flatMap(({ xs }) => xs.b[0])).toEqual(a.map((i) => [2 * i, 2 * i + 1]));
    });
    tf.dispose(data);
  });

  it('an array of tensors: columns if shapes differ, samples if they are equal, and columns with columns()', async () => {
    const xs = tf.range(0, 8).reshape([4, 2]);
    const ys = tf.range(0, 4);
    const same = [tf.range(0, 4), tf.range(10, 14)];
    await expectNoTensorsLeft(async () => {
      const ofShapes = (await collect(new DataLoader([xs, ys], { batchSize: 3 }))) as number[][][];
      expect(ofShapes.map(([x, y]) => [x!.length, y])).toEqual([
        [3, [0, 1, 2]],
        [1, [3]],
      ]);
      expect(await collect(new DataLoader(same, { batchSize: 2 }))).toEqual([
        [
          [0, 1, 2, 3],
          [10, 11, 12, 13],
        ],
      ]);
      expect(await collect(new DataLoader(columns(columns(same)), { batchSize: 3 }))).toEqual([
        [
          [0, 1, 2],
          [10, 11, 12],
        ],
        [[3], [13]],
      ]);
    });
    tf.dispose([xs, ys, ...same]);
  });

  it('string and boolean columns, shuffled', async () => {
    const names = tf.tensor1d(['a', 'b', 'c']);
    const flags = tf.tensor1d([true, false, true]);
    const loader = new DataLoader({ names, flags }, { batchSize: 3, shuffle: true });
    await expectNoTensorsLeft(async () => {
      const [batch] = (await collect(loader)) as [{ names: string[]; flags: number[] }];
      expect(batch.names.toSorted()).toEqual(['a', 'b', 'c']);
      expect(batch.flags).toEqual(batch.names.map((name) => (name === 'b' ? 0 : 1)));
    });
    tf.dispose([names, flags]);
  });

  it('empty data', async () => {
    expect(await collect(new DataLoader([], { batchSize: 2 }))).toEqual([]);
    expect(await collect(new DataLoader(() => [], { batchSize: 2 }))).toEqual([]);
  });
});

describe('DataLoader ownership', () => {
  it('leaves the tensors of an array alone', async () => {
    const samples = numbers(4).map((i) => ({ x: tf.fill([2], i), y: i }));
    const loader = new DataLoader(samples, { batchSize: 2 });
    await expectNoTensorsLeft(async () => {
      expect(await collect(loader)).toHaveLength(2);
      expect(await collect(loader)).toHaveLength(2);
    });
    expect(samples.every(({ x }) => !x.isDisposed)).toBe(true);
    tf.dispose(samples.map(({ x }) => x));
  });

  it('disposes the tensors that get creates, but not older or kept ones', async () => {
    const stored = numbers(4).map((i) => tf.scalar(i));
    const cache = new Map<number, tf.Tensor>();
    const cached = (i: number) => {
      if (!cache.has(i)) cache.set(i, tf.keep(tf.scalar(i)));
      return cache.get(i)!;
    };
    const get = async (i: number) => ({ made: tf.fill([2], i), stored: stored[i]!, cached: cached(i) });
    numbers(4).forEach(cached);
    const loader = new DataLoader({ length: 4, get }, { batchSize: 2 });
    await expectNoTensorsLeft(async () => {
      await collect(loader);
      expect(await collect(loader)).toEqual([
        {
          made: [
            [0, 0],
            [1, 1],
          ],
          stored: [0, 1],
          cached: [0, 1],
        },
        {
          made: [
            [2, 2],
            [3, 3],
          ],
          stored: [2, 3],
          cached: [2, 3],
        },
      ]);
    });
    tf.dispose([stored, ...cache.values()]);
  });

  it('keeps a cache that get fills with tf.keep', async () => {
    const cache = new Map<number, tf.Tensor>();
    const get = (i: number) => {
      const sample = cache.get(i) ?? tf.keep(tf.scalar(i));
      cache.set(i, sample);
      return sample;
    };
    const loader = new DataLoader({ length: 3, get }, { batchSize: 2 });
    expect(await collect(loader)).toEqual(await collect(loader));
    tf.dispose([...cache.values()]);
  });

  it('disposes the tensors of a stream, also if it creates several samples at once', async () => {
    async function* generate() {
      for (let i = 0; i < 3; i++) yield* tf.tidy(() => tf.unstack(tf.fill([2, 3], i)));
    }
    await expectNoTensorsLeft(async () => {
      expect(await collect(new DataLoader(generate, { batchSize: 4 }))).toHaveLength(2);
    });
  });

  it('leaves nothing behind if get fails for one sample of a batch', async () => {
    const get = async (i: number) => {
      if (i === 1) throw new Error('no such file');
      return tf.scalar(i);
    };
    await expectNoTensorsLeft(async () => {
      const loader = new DataLoader({ length: 4, get }, { batchSize: 4 });
      await expect(collect(loader)).rejects.toThrow('no such file');
    });
  });

  it('leaves nothing behind if samples do not fit together', async () => {
    function* generate() {
      yield tf.ones([2]);
      yield tf.ones([3]);
    }
    await expectNoTensorsLeft(async () => {
      const loader = new DataLoader(generate, { batchSize: 2 });
      await expect(collect(loader)).rejects.toThrow(code('ACC_DATA_COLLATE'));
    });
  });

  it('yields clones if collate returns a sample or a foreign tensor', async () => {
    const shared = tf.scalar(7);
    function* generate() {
      yield tf.scalar(1);
      yield tf.scalar(2);
    }
    const collate = ([sample]: tf.Tensor[]) => ({ sample: sample!, shared, twice: tf.mul(sample!, 2) });
    const loader = new DataLoader(generate, { batchSize: 1, collate });
    await expectNoTensorsLeft(async () => {
      expect(await collect(loader)).toEqual([
        { sample: 1, shared: 7, twice: 2 },
        { sample: 2, shared: 7, twice: 4 },
      ]);
    });
    shared.dispose();
  });

  it.each([
    ['an array', numbers(9)],
    [
      'a stream of tensors',
      function* () {
        for (const i of numbers(9)) yield tf.scalar(i);
      },
    ],
  ])('leaves nothing behind if the loop over %s breaks or throws', async (_, dataset) => {
    const loader = new DataLoader(dataset as number[], { batchSize: 2 });
    await expectNoTensorsLeft(async () => {
      for await (const batch of loader) {
        batch.dispose();
        break;
      }
      const failing = async () => {
        for await (const batch of loader) {
          batch.dispose();
          throw new Error('the loop failed');
        }
      };
      await expect(failing()).rejects.toThrow('the loop failed');
    });
  });

  it('closes the iterator of a stream if the loop breaks', async () => {
    let closed = 0;
    function* generate() {
      try {
        yield* numbers(10);
      } finally {
        closed++;
      }
    }
    for await (const batch of new DataLoader(generate, { batchSize: 2 })) {
      tf.dispose(batch);
      break;
    }
    expect(closed).toBe(1);
  });
});

describe('DataLoader order', () => {
  const loader = (options: object = {}) =>
    new DataLoader(numbers(20), { batchSize: 4, shuffle: true, ...options });
  const order = async (from: AsyncIterable<unknown>) => (await collect(from)).flat();

  it('differs in each epoch and is the same in each run', async () => {
    const first = loader();
    const epochs = [await order(first), await order(first), await order(first)];
    expect(new Set(epochs.map(String)).size).toBe(3);
    for (const epoch of epochs) expect((epoch as number[]).toSorted((a, b) => a - b)).toEqual(numbers(20));
    const rerun = loader();
    expect([await order(rerun), await order(rerun), await order(rerun)]).toEqual(epochs);
    expect(await order(loader({ seed: 1 }))).not.toEqual(epochs[0]);
  });

  it('continues from the epoch that was set', async () => {
    const one = loader();
    const epochs = [await order(one), await order(one), await order(one)];
    const other = loader();
    other.setEpoch(1);
    expect([await order(other), await order(other)]).toEqual(epochs.slice(1));
    other.setEpoch(0);
    expect(await order(other)).toEqual(epochs[0]);
  });

  it('does not count an iterator that is never read', async () => {
    const one = loader();
    one[Symbol.asyncIterator]();
    expect(await order(one)).toEqual(await order(loader()));
  });

  it('is that of the data without shuffle', async () => {
    expect(await order(loader({ shuffle: false }))).toEqual(numbers(20));
  });
});

describe('DataLoader options', () => {
  it.each<[object, string]>([
    [{}, 'DataLoader.batchSize is missing; expected a number'],
    [{ batchSize: 0 }, 'DataLoader.batchSize is 0; expected a number greater than 0'],
    [{ batchSize: '8' }, 'DataLoader.batchSize is "8"; expected a number'],
    [{ batchSize: 2.5 }, 'DataLoader.batchSize is 2.5; expected a whole number'],
    [{ batchSize: 2, dropLast: 1 }, 'DataLoader.dropLast is 1; expected true or false'],
    [{ batchSize: 2, collate: [] }, 'DataLoader.collate is []; expected a function'],
    [{ batchSize: 2, seed: null }, 'DataLoader.seed is null; expected a number'],
  ])('that are wrong are named together with their value: %j', (options, message) => {
    expect(() => new DataLoader([1], options as never)).toThrow(message);
  });

  it('drop a short last batch with dropLast', async () => {
    const stream = new DataLoader(() => numbers(5), { batchSize: 2, dropLast: true });
    const array = new DataLoader(numbers(5), { batchSize: 2, dropLast: true });
    expect(await collect(array)).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(await collect(stream)).toEqual(await collect(array));
    expect(array.length).toBe(2);
  });

  it('give a length if the data has one', () => {
    expect(new DataLoader(numbers(5), { batchSize: 2 }).length).toBe(3);
    expect(new DataLoader({ length: 6, get: (i: number) => i }, { batchSize: 2 }).length).toBe(3);
    expect(new DataLoader(() => numbers(5), { batchSize: 2 }).length).toBeUndefined();
  });

  it('pass samples to collate', async () => {
    const collate = (samples: number[]) => tf.tensor1d(samples.map((x) => x * 10));
    expect(await collect(new DataLoader(numbers(3), { batchSize: 2, collate }))).toEqual([[0, 10], [20]]);
  });

  it.each([
    [{}, 'ACC_INVALID_OPTION'],
    [{ batchSize: 0 }, 'ACC_INVALID_OPTION'],
    [{ batchSize: 2.5 }, 'ACC_INVALID_OPTION'],
    [{ batchSize: 2, seed: 0.5 }, 'ACC_INVALID_OPTION'],
    [{ batchSize: 2, shuffle: 'yes' }, 'ACC_INVALID_OPTION'],
    [{ batchSize: 2, collate: 1 }, 'ACC_INVALID_OPTION'],
    [{ batchSize: 2, shufle: true }, 'ACC_UNKNOWN_OPTION'],
  ])('refuse %o', (options, expected) => {
    expect(() => new DataLoader([1], options as never)).toThrow(code(expected));
  });

  it.each([[5], ['text'], [null], [{ a: 1 }], [tf.data.array([1])], [() => 5]])(
    'refuse %o as data',
    async (data) => {
      const read = async () => collect(new DataLoader(data as never, { batchSize: 1 }));
      await expect(read()).rejects.toThrow(code('ACC_DATA_DATASET'));
    },
  );

  it('refuse columns of different lengths, and scalars', () => {
    const long = tf.ones([3]);
    const short = tf.ones([2]);
    const scalar = tf.scalar(1);
    expect(() => new DataLoader({ long, short }, { batchSize: 1 })).toThrow(code('ACC_DATA_ROWS_DIFFER'));
    expect(() => new DataLoader(scalar, { batchSize: 1 })).toThrow(code('ACC_DATA_DATASET'));
    tf.dispose([long, short, scalar]);
  });

  it('refuse what would be ignored: shuffling a stream, collating tensors', () => {
    expect(() => new DataLoader(() => [1], { batchSize: 1, shuffle: true })).toThrow(
      code('ACC_DATA_SHUFFLE'),
    );
    const x = tf.ones([2]);
    expect(() => new DataLoader(x, { batchSize: 1, collate: () => 0 })).toThrow(code('ACC_INVALID_OPTION'));
    x.dispose();
  });

  it('refuse a second epoch of an iterator', async () => {
    const loader = new DataLoader(numbers(3)[Symbol.iterator](), { batchSize: 2 });
    expect(await collect(loader)).toHaveLength(2);
    await expect(collect(loader)).rejects.toThrow(code('ACC_DATA_SPENT'));
  });

  it('refuse an invalid length, an invalid epoch and an async collate', async () => {
    const get = (i: number) => i;
    expect(() => new DataLoader({ length: -1, get }, { batchSize: 1 }).length).toThrow(
      code('ACC_DATA_DATASET'),
    );
    const loader = new DataLoader([1], { batchSize: 1, collate: async () => 0 });
    expect(() => loader.setEpoch(-1)).toThrow(code('ACC_INVALID_OPTION'));
    await expect(collect(loader)).rejects.toThrow(code('ACC_DATA_COLLATE'));
  });
});

it('give batches with the right types', async () => {
  const loader = new DataLoader([{ x: [1, 2], y: 0 }], { batchSize: 1 });
  for await (const { x, y } of loader) {
    expect(plain([x, y])).toEqual([[[1, 2]], [0]]);
    tf.dispose([x, y]);
  }
});
