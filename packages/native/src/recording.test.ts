import { describe, expect, it } from 'vitest';
import { liveTensors } from './memory.js';
import { placeRecordedCalls } from './recorded-places.js';
import { operator, operatorInPlace, operatorWithResults } from './operator.js';
import {
  abortRecording,
  areAlive,
  cutRecording,
  finishRecording,
  type Recording,
  refuseRecording,
  resumeRecording,
  startRecording,
} from './recording.js';
import { bindToShadow, shadowOf, unrecorded } from './recorded-shadows.js';
import { META, pair, record, replayed, valuesOf } from './test-support.js';
import { memoryFlags, tensorFrom, type Tensor } from './tensor.js';

const add = operator('aten::add.Tensor');
const multiply = operator('aten::mul.Scalar');
const concat = operator('aten::cat');
const zerosLike = operator('aten::zeros_like');
const addTo = operatorInPlace('aten::add_.Tensor');
const split = operatorWithResults('aten::split.Tensor');
const sum = operator('aten::sum');

function sealed(step: (x: Tensor) => Tensor): Recording {
  const recording = record(step) as Recording;
  recording.seal();
  return recording;
}

describe('a recording for arguments of other sizes', () => {
  const META_3 = { dtype: 'float32', shape: [3] } as const;
  const vector = (...numbers: number[]) =>
    tensorFrom(Float32Array.from(numbers), 'float32', [numbers.length]);
  /** Adds an uploaded number to `x` times its length, and then an uploaded tensor. */
  const stepOf = (number: number, offsets: number[]) => (x: Tensor) =>
    add(add(multiply(x, x.shape[0]!), vector(number)), vector(...offsets));
  const recorded = (step: (x: Tensor) => Tensor, x: Tensor) => record(step, x) as Recording;
  const pairsOf = (numbers: Float64Array) =>
    Array.from({ length: numbers.length / 2 }, (_, i) => `${numbers[2 * i]},${numbers[2 * i + 1]}`);

  it('shares the calls, and replays both sizes in turn', () => {
    const recording = sealed(stepOf(0.5, [10, 20]));
    const other = recorded(stepOf(0.25, [10, 20, 30]), vector(1, 2, 3));
    expect(other.shapeOfCalls).toBe(recording.shapeOfCalls);
    const { sizes, pairs } = recording.join(other)!;
    other.dispose();
    // The factor, the number, and the sizes of `x` and of the offsets, which have common elements.
    expect(new Set(pairsOf(pairs))).toEqual(new Set(['2,3', '0.5,0.25']));
    for (let i = 0; i < 2; i++) {
      recording.useSizes(sizes);
      expect(valuesOf(recording.replay(0, [vector(1, 2, 3).id], [META_3])[0]!)).toEqual([
        13.25, 26.25, 39.25,
      ]);
      recording.useSizes(0);
      expect(replayed(recording, pair(1, 2))).toEqual([12.5, 24.5]);
    }
    recording.useSizes(sizes);
    recording.releaseSizes(sizes);
    expect(replayed(recording, pair(1, 2))).toEqual([12.5, 24.5]);
    recording.dispose();
  });

  it('names elements that differ by a number without a counterpart', () => {
    const recording = sealed(stepOf(0.5, [10, 20]));
    const other = recorded(stepOf(0.5, [10, 21, 30]), vector(1, 2, 3));
    const pairs = pairsOf(recording.join(other)!.pairs);
    expect(pairs.filter((pair) => pair !== '2,3')).toEqual([expect.stringMatching(/^NaN,\d+$/)]);
    other.dispose();
    recording.dispose();
  });

  it('is not shared if a call differs in more than numbers', () => {
    const recording = sealed(stepOf(1, [1, 1]));
    const others: ((x: Tensor) => Tensor)[] = [
      (x) => multiply(x, 2),
      (x) => add(multiply(x, 2), add(vector(1), vector(1, 1, 1))),
      (x) => add(add(multiply(x, 3), tensorFrom(Int32Array.of(1), 'int32', [1])), vector(1, 1, 1)),
    ];
    for (const step of others) {
      const other = recorded(step, vector(1, 2, 3));
      expect(recording.join(other)).toBeUndefined();
      other.seal();
      expect(valuesOf(other.replay(0, [vector(1, 2, 3).id], [META_3])[0]!)).toEqual(
        valuesOf(step(vector(1, 2, 3))),
      );
      other.dispose();
    }
    expect(replayed(recording, pair(1, 2))).toEqual([4, 6]);
    recording.dispose();
  });
});

describe('a recording', () => {
  it('tells the times and the places of the calls that it replays', () => {
    let place = 5;
    placeRecordedCalls(() => place++);
    const recording = sealed((x) => {
      add(x, pair(1, 1)); // Nobody needs it.
      return multiply(add(x, x), 2);
    });
    placeRecordedCalls(undefined);
    const calls = [
      { op: 'aten::add.Tensor', number: 1, place: 6, result: META },
      { op: 'aten::mul.Scalar', number: 2, place: 7, result: META },
    ];
    expect(recording.times()).toEqual(calls.map((call) => ({ ...call, ms: 0 })));
    const start = performance.now();
    expect(replayed(recording, pair(1, 2))).toEqual([4, 8]);
    const passedMs = performance.now() - start;
    const times = recording.times();
    expect(times.every(({ ms }) => ms > 0)).toBe(true);
    expect(times.reduce((sum, { ms }) => sum + ms, 0)).toBeLessThan(passedMs);
    recording.dispose();
  });

  it('repeats calls on other tensors, with lists, views and uploaded data', () => {
    const recording = sealed((x) => {
      const both = concat([x, pair(10, 20)], 0);
      const [first, second] = split(both, 2)[0] as Tensor[];
      return add(first!, second!);
    });
    expect(replayed(recording, pair(1, 2))).toEqual([11, 22]);
    expect(replayed(recording, pair(3, 4))).toEqual([13, 24]);
    recording.dispose();
  });

  it('writes in place into tensors that it creates, anew in each replay', () => {
    const recording = sealed((x) => {
      const total = pair(100, 200);
      addTo(total, x);
      const others = zerosLike(x);
      addTo(others, total);
      return others;
    });
    expect(replayed(recording, pair(1, 2))).toEqual([101, 202]);
    expect(replayed(recording, pair(1, 2))).toEqual([101, 202]);
    recording.dispose();
  });

  it('holds no tensors between replays, nor after a failed replay', () => {
    const recording = sealed((x) => add(multiply(x, 2), x));
    const before = liveTensors();
    using x = pair(1, 2);
    using wrong = tensorFrom(new Float32Array(3), 'float32', [3]);
    expect(() => recording.replay(0, [wrong.id], [META])).toThrowError(
      expect.objectContaining({ code: 'ACC_OPERATOR_FAILED' }),
    );
    recording.replay(0, [x.id], [META])[0]!.dispose();
    expect(liveTensors()).toBe(before + 2);
    const id = x.id;
    x.dispose();
    expect(() => recording.replay(0, [id], [META])).toThrowError(
      expect.objectContaining({ code: 'ACC_TENSOR_DISPOSED' }),
    );
    recording.dispose();
  });

  it('has the calls on shadows, and takes other tensors for their results', () => {
    const recording = sealed((x) => {
      using shadow = shadowOf(x);
      using doubled = multiply(shadow, 2);
      // Nothing is computed: the recording knows only what it is told of the values.
      const computed = unrecorded(() => multiply(x, 200));
      bindToShadow(computed, doubled);
      return add(computed, pair(1, 1));
    });
    expect(recording.times().map(({ op }) => op)).toEqual(['aten::mul.Scalar', 'aten::add.Tensor']);
    expect(replayed(recording, pair(1, 2))).toEqual([3, 5]);
    recording.dispose();
    expect(() => shadowOf(pair(1, 2))).toThrowError(
      expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }),
    );
  });

  it('has segments, and calls between them are not repeated', () => {
    const x = pair(1, 2);
    startRecording();
    const doubled = multiply(x, 2);
    expect([...cutRecording([doubled])]).toEqual([x.id]);
    const between = multiply(doubled, 100);
    resumeRecording([between], []);
    const result = add(doubled, between);
    expect([...cutRecording([result])]).toEqual([]);
    const recording = finishRecording() as Recording;
    recording.seal();
    using other = pair(5, 6);
    expect(valuesOf(recording.replay(0, [other.id], [META])[0]!)).toEqual([10, 12]);
    using given = pair(1, 1);
    expect(valuesOf(recording.replay(1, [given.id], [META])[0]!)).toEqual([11, 13]);
    recording.dispose();
  });

  it('states how it differs from another', () => {
    const difference = (a: (x: Tensor) => Tensor, b: (x: Tensor) => Tensor) =>
      (record(a) as Recording).differenceFrom(record(b) as Recording)?.text;
    const twice = (x: Tensor) => multiply(x, 2);
    expect(difference(twice, twice)).toBeUndefined();
    expect(difference(twice, (x) => multiply(x, 3))).toMatch(/'other' of aten::mul.Scalar/);
    expect(difference(twice, (x) => add(x, x))).toMatch(/aten::add.Tensor/);
    expect(difference(twice, (x) => twice(twice(x)))).toMatch(/calls|returns/);
    expect(
      difference(
        (x) => add(x, pair(1, 2)),
        (x) => add(x, pair(1, 3)),
      ),
    ).toMatch(/aten::add.Tensor/);
  });
});

describe('a step is refused', () => {
  it.each<[string, (x: Tensor) => Tensor, RegExp]>([
    ['that reads', (x) => (x.read(), multiply(x, 2)), /reads values back/],
    ['that asks who holds memory', (x) => (memoryFlags([x]), multiply(x, 2)), /who else holds/],
    ['that writes into its argument', (x) => (addTo(x, x), multiply(x, 2)), /in place/],
    ['that says so itself', (x) => (refuseRecording('why'), multiply(x, 2)), /^why$/],
    [
      'that takes a number from data',
      (x) => {
        using total = sum(x);
        return multiply(x, operatorWithResults('aten::item')(total)[0] as number);
      },
      /aten::item/,
    ],
  ])('%s', (_, step, reason) => {
    expect(record(step)).toMatch(reason);
  });
});

it('an aborted recording leaves nothing behind', () => {
  startRecording();
  multiply(pair(1, 2), 2);
  abortRecording();
  refuseRecording('nobody listens');
  expect(() => cutRecording([])).toThrowError(expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }));
});

it('areAlive recognises disposed handles', () => {
  const x = pair(1, 2);
  expect(areAlive([x.id])).toBe(true);
  const { id } = x;
  x.dispose();
  expect(areAlive([id])).toBe(false);
  expect(areAlive([])).toBe(true);
});
