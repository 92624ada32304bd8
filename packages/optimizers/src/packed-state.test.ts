import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { registerAccBackend } from '@acc/kernels';
import { liveTensors } from '@acc/native';
import { adamw, lion, registerOptimizers, sgdw } from './index.js';

const DECAY = { weightDecay: 0.1, excludeFromWeightDecay: ['/1$'] };

const OPTIMIZERS = [8, 4].flatMap((stateBits) => {
  const more = { ...DECAY, stateBits: stateBits as 8 | 4 };
  return [
    [`adamw in ${stateBits} bits`, () => adamw({ learningRate: 0.01, ...more })],
    [`lion in ${stateBits} bits`, () => lion({ learningRate: 0.01, ...more })],
    [`sgdw in ${stateBits} bits`, () => sgdw({ learningRate: 0.1, momentum: 0.9, ...more })],
    [
      `sgdw with nesterov in ${stateBits} bits`,
      () => sgdw({ learningRate: 0.1, momentum: 0.9, nesterov: true, ...more }),
    ],
  ] as const;
});

/** Whole blocks, a block that ends early, an odd number of elements, and one that is too small to pack. */
const SHAPES = [[64, 64], [70, 61], [4097], [4095]];

beforeAll(() => {
  registerAccBackend();
  registerOptimizers();
});

const wave = (size: number, from: number, limit: number) =>
  Float32Array.from({ length: size }, (_, i) => Math.sin(from + i * 1.7) * limit * 10 ** ((i % 7) - 3));

function makeVariables(names: string): tf.Variable[] {
  return SHAPES.map((shape, i) =>
    tf.tidy(() => {
      const size = tf.util.sizeFromShape(shape);
      return tf.variable(tf.tensor(wave(size, i, 1), shape), true, `${names}/${i}`);
    }),
  );
}

/** The first block of the first variable has the gradient 0 in the first step. */
function takeSteps(
  optimizer: tf.Optimizer,
  variables: readonly tf.Variable[],
  from: number,
  to: number,
): void {
  for (let step = from; step < to; step++) {
    tf.tidy(() => {
      optimizer.applyGradients(
        variables.map(({ name, shape, size }, i) => {
          const values = wave(size, 10 * step + i, 1e-3);
          if (step === 0) values.fill(0, 0, 256);
          return { name, tensor: tf.tensor(values, shape) };
        }),
      );
    });
  }
}

type Weights = Awaited<ReturnType<tf.Optimizer['getWeights']>>;
const bitsOf = (tensors: readonly tf.Tensor[]) =>
  tensors.map((x) => Buffer.from(x.dataSync().slice().buffer).toString('base64'));

describe.each(OPTIMIZERS)('%s', (name, make) => {
  it('has the same bits by the operators as in JavaScript', async () => {
    const results: string[][] = [];
    for (const backend of ['acc', 'cpu']) {
      await tf.setBackend(backend);
      const [variables, optimizer] = [makeVariables(`${name} ${backend}`), make()];
      takeSteps(optimizer, variables, 0, 4);
      const state: Weights = await optimizer.getWeights();
      // Small variables have float32 state, whose rounding differs between backends.
      const packed = state.filter(({ tensor }) => tensor.rank === 2).map(({ tensor }) => tensor);
      results.push(bitsOf([...variables.slice(0, 3), ...packed]));
      expect(packed.map(({ dtype }) => dtype)).toEqual(packed.map(() => 'int32'));
      optimizer.dispose();
      tf.dispose(variables);
    }
    expect(results[0]!.length).toBeGreaterThan(5);
    expect(results[0]).toEqual(results[1]);
  });

  it('goes on from saved state, and leaves no tensor behind', async () => {
    await tf.setBackend('acc');
    const atStart = [tf.memory().numTensors, liveTensors()];
    const [straight, stopped] = [makeVariables('straight'), makeVariables('stopped')];
    const [whole, first, second] = [make(), make(), make()];
    takeSteps(whole, straight, 0, 4);
    takeSteps(first, stopped, 0, 2);
    const saved = await first.getWeights();
    await second.setWeights(saved);
    saved[0]!.tensor.dispose();
    first.dispose();
    takeSteps(second, stopped, 2, 4);
    expect(bitsOf(stopped)).toEqual(bitsOf(straight));
    whole.dispose();
    second.dispose();
    tf.dispose([...straight, ...stopped]);
    expect([tf.memory().numTensors, liveTensors()]).toEqual(atStart);
  });

  it('refuses state of other bits', async () => {
    await tf.setBackend('acc');
    const variables = makeVariables(`${name} others`);
    const { stateBits } = make().getConfig();
    for (const bits of [32, 12 - (stateBits as number)] as (32 | 8 | 4)[]) {
      const other = name.startsWith('adamw')
        ? adamw({ stateBits: bits })
        : sgdw({ momentum: 0.9, stateBits: bits });
      takeSteps(other, variables, 0, 1);
      const saved = await other.getWeights();
      const refused = expect.objectContaining({ code: 'ACC_OPTIMIZER_WEIGHTS' }) as unknown;
      await expect(make().setWeights(saved)).rejects.toEqual(refused);
      other.dispose();
    }
    tf.dispose(variables);
  });
});

it.each(['acc', 'cpu'])('a small second moment is not lost beside a large one, on %s', async (backend) => {
  await tf.setBackend(backend);
  const w = tf.tidy(() => tf.variable(tf.zeros([4096]), true, `small ${backend}`));
  const optimizer = adamw({ learningRate: 1e-3, weightDecay: 0, stateBits: 8 });
  for (const small of [3e-4, 0, 0]) {
    const g = new Float32Array(4096).fill(small);
    for (let block = 0; block < 16; block++) g[256 * block] = 1;
    tf.tidy(() => optimizer.applyGradients({ [w.name]: tf.tensor(g) }));
  }
  const largest = Math.max(...w.dataSync().map(Math.abs));
  // No step is much longer than the learning rate.
  expect(largest).toBeLessThan(5e-3);
  optimizer.dispose();
  w.dispose();
});

it.each(['NaN', 'Infinity'])('%s has the same bits by the operators as in JavaScript', async (value) => {
  const results: string[][] = [];
  for (const backend of ['acc', 'cpu']) {
    await tf.setBackend(backend);
    const w = tf.tidy(() => tf.variable(tf.ones([4096]), true, `${value} ${backend}`));
    const optimizer = adamw({ stateBits: 8 });
    const g = wave(4096, 0, 1);
    g[300] = Number(value);
    for (let step = 0; step < 2; step++) tf.tidy(() => optimizer.applyGradients({ [w.name]: tf.tensor(g) }));
    const [, ...state] = await optimizer.getWeights();
    // Where numbers are: NaNs have several bits.
    results.push([...w.dataSync()].map(String), ...state.map(({ tensor }) => codesOf(tensor)));
    optimizer.dispose();
    w.dispose();
  }
  const half = results.length / 2;
  expect(results.slice(0, half)).toEqual(results.slice(half));
});

/** Of a moment in 8 bits, without its scales. */
const codesOf = (moment: tf.Tensor) =>
  Array.from(new Uint8Array(moment.dataSync().slice().buffer), String).filter((_, i) => i % 260 < 256);

// fixtures/torchao_adamw.py writes it.
const TORCHAO = JSON.parse(
  readFileSync(new URL('../fixtures/torchao_adamw.json', import.meta.url), 'utf8'),
) as Record<'8' | '4', Record<'m' | 'v', { codes: string; scales: string }> & { weights: string }>;
const POWERS = [0.001, 0.01, 0.1, 1, 10, 100, 1000];
const torchaoValues = (step: number) =>
  Float32Array.from(
    { length: 4096 },
    (_, i) => ((((i * 7919 + step * 104729) % 2003) - 1001) / 1001) * POWERS[i % 7]!,
  );
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
const floatsOf = (text: string) => [...new Float32Array(bytesOf(text).buffer)];

it.each([8, 4] as const)('adamw in %i bits has the codes and weights of torchao', async (stateBits) => {
  await tf.setBackend('acc');
  const w = tf.tidy(() => tf.variable(tf.tensor(torchaoValues(9)), true, `torchao ${stateBits}`));
  const optimizer = adamw({ learningRate: 0.01, weightDecay: 0.1, stateBits });
  for (let step = 0; step < 3; step++) {
    tf.tidy(() => optimizer.applyGradients({ [w.name]: tf.tensor(torchaoValues(step)) }));
  }
  const [, ...state] = await optimizer.getWeights();
  const expected = TORCHAO[stateBits];
  // Torchao computes 1 - β₂ᵗ in float32, which has an error of 6e-5 in the first step. It divides by 0
  // where a second moment is below its lowest code.
  const gradients = [0, 1, 2].map(torchaoValues);
  const isLarge = (_: number, i: number) => gradients.every((g) => Math.abs(g[i]!) > 1);
  const [found, wanted] = [[...w.dataSync()].slice(0, 256), floatsOf(expected.weights)];
  expect(found.filter(isLarge).length).toBeGreaterThan(50);
  expectClose(found.filter(isLarge), wanted.filter(isLarge), { rtol: 3e-5, atol: 1e-6 });
  // What was stored as the lowest code leaves traces in the next two.
  const lowest = stateBits === 8 ? 2 : 0;
  (['m', 'v'] as const).forEach((kind, k) => {
    const words = state[k]!.tensor.dataSync() as Int32Array;
    const rowWords = stateBits === 8 ? 65 : 17;
    const rows = Array.from({ length: stateBits === 8 ? 1 : 2 }, (_, block) =>
      words.slice(block * rowWords, (block + 1) * rowWords),
    );
    const codes = rows.flatMap((row) => [...new Uint8Array(row.buffer, 0, row.byteLength - 4)]);
    const scales = rows.map((row) => new Float32Array(row.buffer, row.byteLength - 4)[0]!);
    const atLeast = (code: number) => (kind === 'v' ? Math.max(code, lowest) : code);
    expect(codes.map(atLeast)).toEqual([...bytesOf(expected[kind].codes)].map(atLeast));
    expectClose(scales, floatsOf(expected[kind].scales), { rtol: 1e-6, atol: 0 });
  });
  optimizer.dispose();
  w.dispose();
});
