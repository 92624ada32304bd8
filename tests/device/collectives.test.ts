import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProcessGroup, Store, tensorFrom, tensorOnHost, type EngineSpec, type Tensor } from '@acc/native';
import { freePort } from '@acc/testkit';
import { deviceCounts, runProgram, setDelays } from './late-device.js';

// Two ranks in one process, whose tensors are on the device.

interface Pair {
  readonly stores: Store[];
  readonly groups: ProcessGroup[];
}

async function pairOf(spec: EngineSpec): Promise<Pair> {
  const join = { host: '127.0.0.1', port: await freePort(), worldSize: 2, timeoutMs: 240_000 };
  const stores: Store[] = [];
  for (const isServer of [true, false]) stores.push(await Store.connect({ ...join, isServer }));
  const options = { name: 'pair', size: 2, timeoutMs: 240_000 };
  const groups = await Promise.all(
    stores.map((store, rank) => ProcessGroup.create(store, { ...options, rank }, spec)),
  );
  return { stores, groups };
}

const address = '127.0.0.1';
const SPECS: readonly (readonly [string, EngineSpec])[] = [
  ['Gloo, through memory of the host', { engine: 'gloo', address }],
  ["the device's own collectives", { engine: 'nccl', address }],
  [
    "the device's own collectives, for which its stream waits",
    { engine: 'nccl', address, streamWaits: true },
  ],
];

const vector = (...values: number[]): Tensor =>
  tensorFrom(Float32Array.from(values), 'float32', [values.length]);
const values = (...tensors: readonly Tensor[]): number[][] =>
  tensors.map((tensor) => {
    using held = tensor;
    return [...(held.read() as Float32Array)];
  });

const room = (length: number): Tensor[] => [0, 1].map(() => vector(...new Array<number>(length).fill(-1)));

describe.each(SPECS)('%s', (_, spec) => {
  let pair: Pair;
  beforeAll(async () => {
    setDelays(1, 200);
    pair = await pairOf(spec);
  });
  afterAll(() => {
    for (const group of pair.groups) group.close();
    for (const store of pair.stores.reverse()) store.close();
    setDelays(0, 0);
  });

  /** Starts a call on both ranks, then waits for both. */
  function together(start: (group: ProcessGroup, rank: number) => { wait(): void }): void {
    const works = pair.groups.map((group) => start(group, group.rank));
    for (const work of works) work.wait();
  }

  it('every collective moves tensors of a device', () => {
    const inputs = () => [vector(1, 2), vector(3, 5)];
    const broadcast = inputs();
    together((group, rank) => group.broadcast(broadcast[rank]!, 1));
    expect(values(...broadcast)).toEqual([
      [3, 5],
      [3, 5],
    ]);
    const summed = inputs();
    together((group, rank) => group.allReduce(summed[rank]!, summed[rank]!, 'sum'));
    expect(values(...summed)).toEqual([
      [4, 7],
      [4, 7],
    ]);
    const means = room(2);
    const given = inputs();
    together((group, rank) => group.allReduce(given[rank]!, means[rank]!, 'mean'));
    expect(values(...means, ...given)).toEqual([
      [2, 3.5],
      [2, 3.5],
      [1, 2],
      [3, 5],
    ]);
    const many = [inputs(), inputs().reverse()];
    together((group, rank) => group.allReduceMany([many[0]![rank]!, many[1]![rank]!], 'sum'));
    expect(values(...many.flat())).toEqual(new Array(4).fill([4, 7]));
    const gathered = room(4);
    const parts = inputs();
    together((group, rank) => group.allGather(parts[rank]!, gathered[rank]!));
    expect(values(...gathered)).toEqual(new Array(2).fill([1, 2, 3, 5]));
    const scattered = room(1);
    together((group, rank) => group.reduceScatter(parts[rank]!, scattered[rank]!, 'sum'));
    expect(values(...scattered)).toEqual([[4], [7]]);
    const exchanged = room(2);
    together((group, rank) => group.allToAll(parts[rank]!, exchanged[rank]!));
    expect(values(...exchanged)).toEqual([
      [1, 3],
      [2, 5],
    ]);
    const received = vector(0, 0);
    together((group, rank) => (rank === 0 ? group.send(parts[0]!, 1) : group.receive(received, 0)));
    expect(values(received, ...parts)).toEqual([
      [1, 2],
      [1, 2],
      [3, 5],
    ]);
  });

  it('what ranks tell each other does not touch the device', () => {
    const before = deviceCounts();
    const told = [0, 1].map((rank) => tensorOnHost(Int32Array.of(rank + 1), 'int32', [1]));
    const heard = [0, 1].map(() => tensorOnHost(new Int32Array(2), 'int32', [2]));
    together((group, rank) => group.allGather(told[rank]!, heard[rank]!));
    const after = deviceCounts();
    expect(heard.map((one) => [...(one.read() as Int32Array)])).toEqual(new Array(2).fill([1, 2]));
    expect(after).toMatchObject({ uploads: before.uploads, reads: before.reads, waits: before.waits });
    for (const one of [...told, ...heard]) one.dispose();
  });

  it('only a stream that waits leaves the host alone', () => {
    const inputs = [vector(1), vector(2)];
    const before = deviceCounts();
    together((group, rank) => group.allReduce(inputs[rank]!, inputs[rank]!, 'sum'));
    const after = deviceCounts();
    const isOwn = spec.engine === 'nccl';
    expect(after.reads - before.reads).toBe(isOwn ? 0 : 2);
    expect(after.waits - before.waits).toBe(isOwn && spec.streamWaits ? 0 : 2);
    expect(values(...inputs)).toEqual([[3], [3]]);
  });
});

it.each([
  ['whose rank did not come', [], 'ACC_COLLECTIVE_TIMEOUT'],
  ['that its backend failed, at once', ['broken'], 'ACC_COLLECTIVE_FAILED'],
] as const)(
  'after the program went on, each use of values throws the error of a collective %s',
  (_, given, code) => {
    const { stdout, stderr, status } = runProgram('lost-rank.ts', ...given);
    expect(status, stderr).toBe(0);
    const { waited, read, innocent, help, sum, message } = JSON.parse(stdout) as Record<string, string>;
    expect(waited).toBe('returned');
    for (const later of [read, innocent]) expect(later).toBe(code);
    expect(help).toContain('from its last checkpoint');
    // Other ranks get no wrong values, also not in other groups.
    for (const next of [sum, message]) expect(next).toMatch(/^ACC_/);
  },
);
