import { engine, setBackend, tensor, type NamedAttrMap, type Tensor } from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { numThreads, setNumThreads } from '@acc/native';
import { cpuHas } from '@acc/testkit';
import { BACKEND_NAME } from '../acc-names.js';
import { registerAccBackend } from '../register-backend.js';
import { chosenCandidates, kernelChoices, useCandidates } from '../tuning/tuning.js';

// The kernels of convolutions with the candidate 'winograd' of the tuner, beside libtorch's.

const hasInstructions = cpuHas('avx512f', 'avx512bw', 'avx512dq', 'avx512vl');

const threads = numThreads();
beforeAll(async () => {
  registerAccBackend();
  await setBackend(BACKEND_NAME);
  setNumThreads(1);
});
afterAll(() => setNumThreads(threads));

const SIDE = 9;
const BATCH = 6;
const IN = 16;
const OUT = 32;

const make = (shape: number[]): Tensor => {
  let state = 7;
  const size = shape.reduce((count, length) => count * length, 1);
  const values = Float32Array.from({ length: size }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  return tensor(values, shape, 'float32');
};

type Edges = readonly [before: number, after: number];

interface Case {
  readonly window: number;
  /** Of both axes. */
  readonly pad: Edges;
  readonly dataFormat: 'NHWC' | 'NCHW';
}

const CASES: Case[] = [3, 5].flatMap((window) =>
  (
    [
      [1, 1],
      [0, 0],
      [0, 2],
      [2, 0],
    ] as const
  ).flatMap((pad) => (['NHWC', 'NCHW'] as const).map((dataFormat) => ({ window, pad, dataFormat }))),
);

const images = ({ dataFormat }: Case, side: number, channels: number): number[] =>
  dataFormat === 'NHWC' ? [BATCH, side, side, channels] : [BATCH, channels, side, side];

const outSide = ({ window, pad: [before, after] }: Case): number => SIDE + before + after - window + 1;

function padOf({ pad, dataFormat }: Case): Edges[] {
  const none: Edges = [0, 0];
  return dataFormat === 'NHWC' ? [none, pad, pad, none] : [none, none, pad, pad];
}

const run = (name: string, inputs: Record<string, Tensor>, attrs: object): Tensor =>
  engine().runKernel(name, inputs, attrs as NamedAttrMap);

/** The results of the three kernels. */
function results(of: Case): Float32Array[] {
  const { window, dataFormat } = of;
  const attrs = { strides: [1, 1], dilations: [1, 1], pad: padOf(of), dataFormat };
  const inputShape = images(of, SIDE, IN);
  const filterShape = [window, window, IN, OUT];
  const [x, filter, dy] = [make(inputShape), make(filterShape), make(images(of, outSide(of), OUT))];
  const created = [
    run('Conv2D', { x, filter }, attrs),
    run('Conv2DBackpropInput', { dy, filter }, { ...attrs, inputShape }),
    run('Conv2DBackpropFilter', { x, dy }, { ...attrs, filterShape }),
  ];
  const values = created.map((result) => Float32Array.from(result.dataSync()));
  [x, filter, dy, ...created].forEach((tensor) => tensor.dispose());
  return values;
}

/** Uses one candidate for all classes of shapes that have been met. */
const take = (candidate: string): void =>
  useCandidates(
    Object.fromEntries(
      Object.keys(chosenCandidates())
        .filter((key) => key.startsWith('convolution'))
        .map((key) => [key, candidate]),
    ),
  );

/** Without these instructions, the tuner does not offer the candidate. */
const supported = <T>(cases: readonly T[]): readonly T[] => (hasInstructions ? cases : []);

describe('convolutions by Winograd', () => {
  it.each(supported(CASES))('are those of libtorch: %j', (of) => {
    results(of);
    take('channelsLast');
    const expected = results(of);
    take('winograd');
    const own = results(of);
    const candidates = kernelChoices().filter(({ family }) => family.startsWith('convolution'));
    expect(candidates.slice(-3).map(({ candidate }) => candidate)).toEqual([
      'winograd',
      'winograd',
      'winograd',
    ]);
    for (const [i, values] of own.entries()) {
      const worst = values.reduce(
        (most, value, at) => Math.max(most, Math.abs(value - expected[i]![at]!)),
        0,
      );
      // Sums of up to 800 products of numbers below 1.
      expect(worst).toBeLessThan(3e-4);
      expect(worst).toBeGreaterThan(0);
    }
  });

  it.each(
    supported([
      { strides: [2, 2], dilations: [1, 1] },
      { strides: [1, 1], dilations: [2, 2] },
    ]),
  )('leave other windows to libtorch: %j', (windows) => {
    const [x, filter] = [make([BATCH, SIDE, SIDE, IN]), make([3, 3, IN, OUT])];
    run('Conv2D', { x, filter }, { ...windows, pad: 'same', dataFormat: 'NHWC' }).dispose();
    [x, filter].forEach((tensor) => tensor.dispose());
    const choice = kernelChoices().findLast(({ family }) => family === 'convolution');
    expect(choice?.failures['winograd']).toMatch(/no strides, dilations or groups/);
  });

  it.each(hasInstructions ? [] : ['winograd'])(
    'are not chosen without these instructions: %s',
    (candidate) => {
      results(CASES[0]!);
      const families = kernelChoices().filter(({ family }) => family.startsWith('convolution'));
      expect(families.length).toBeGreaterThan(0);
      expect(families.map((choice) => choice.candidate)).not.toContain(candidate);
    },
  );
});
