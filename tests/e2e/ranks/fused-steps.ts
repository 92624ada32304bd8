// Trains a small model with clipping, in float32 and in bfloat16: by plain steps, by compiled ones
// with each kind of fusion, and with accumulation. Reports the trainings of each precision by the
// names of `TRAININGS`.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions, type CompileOptions } from '@acc/core';

export interface Trained {
  readonly losses: number[];
  readonly norms: number[];
  readonly weights: number[][];
  readonly replays: number | undefined;
  readonly reason: string | undefined;
  readonly explanation: string | undefined;
}

interface Training {
  /** Undefined: the step is not compiled. */
  readonly fuse?: CompileOptions['fuse'];
  /** Whether each step is a window of two micro-batches. Default: it is one batch. */
  readonly accumulates?: boolean;
  /** Whether batches have several sizes, which differ between ranks. */
  readonly varies?: boolean;
}

const TRAININGS = {
  plain: {},
  unfused: { fuse: false },
  usual: { fuse: 'plain' },
  exact: { fuse: 'exact' },
  fused: { fuse: true },
  'plain windows': { accumulates: true },
  'exact windows': { fuse: 'exact', accumulates: true },
  'plain sizes': { varies: true },
  'unfused sizes': { fuse: false, varies: true },
  'usual sizes': { fuse: 'plain', varies: true },
  'exact sizes': { fuse: 'exact', varies: true },
} as const satisfies Record<string, Training>;
export type Trainings = Record<keyof typeof TRAININGS, Trained>;

const STEPS = 8;
const COLUMNS = 32;
/** Rows of batches if they vary. Each rank begins with another one. */
const ROWS = [6, 6, 6, 4, 3, 6, 4, 3, 6];

async function train(
  mixedPrecision: AcceleratorOptions['mixedPrecision'],
  { fuse, accumulates = false, varies = false }: Training,
): Promise<Trained> {
  const accelerator = await Accelerator.create({
    mixedPrecision,
    gradientAccumulationSteps: accumulates ? 2 : 1,
    gradientClipping: { norm: 0.3, value: 0.05 },
    seed: 3,
  });
  const weight = tf.variable(
    tf.randomNormal<tf.Rank.R2>([COLUMNS, COLUMNS], 0, 1, 'float32', 3),
    true,
    'weight',
  );
  const gain = tf.variable(tf.ones([COLUMNS]), true, 'gain');
  const [, optimizer] = accelerator.prepare([weight, gain], tf.train.adam(0.01));

  /** A layer norm and a GELU in plain operators. */
  const loss = (x: tf.Tensor2D) => () => {
    const h = tf.matMul<tf.Tensor2D>(x, weight as tf.Tensor as tf.Tensor2D);
    const { mean, variance } = tf.moments(h, -1, true);
    const normalized = h.sub(mean).div(variance.add(1e-5).sqrt()).mul(gain);
    const inner = normalized.add(normalized.pow(3).mul(0.044715)).mul(0.8);
    const active = normalized.mul(0.5).mul(inner.tanh().add(1));
    return active.sub(x).square().mean().asScalar();
  };
  const plain = (...batches: tf.Tensor2D[]) =>
    batches.map((x) => accelerator.accumulate(() => optimizer.minimize(loss(x), true)!));
  const compiled = fuse === undefined ? undefined : accelerator.compile(plain, { fuse });
  const step = compiled ?? plain;

  const { processIndex: rank, numProcesses: ranks } = accelerator;
  const losses: number[] = [];
  const norms: number[] = [];
  for (let i = 0; i < STEPS; i++) {
    const seeds = accumulates ? [2 * i, 2 * i + 1] : [i];
    const batches = seeds.map((seed) =>
      tf.randomNormal<tf.Rank.R2>(
        [varies ? ROWS[i + rank]! : ROWS[0]!, COLUMNS],
        0,
        1,
        'float32',
        1 + rank + ranks * seed,
      ),
    );
    const values = step(...batches);
    for (const value of values) losses.push(value.dataSync()[0]!);
    norms.push(accelerator.gradientNorm!);
    tf.dispose([batches, values]);
  }
  const trained: Trained = {
    losses,
    norms,
    weights: [weight, gain].map((variable) => [...variable.dataSync()]),
    replays: compiled?.replays,
    reason: compiled?.reason,
    explanation: compiled?.explain(),
  };
  accelerator.freeMemory();
  optimizer.dispose();
  tf.dispose([weight, gain]);
  return trained;
}

export default async function fusedSteps(): Promise<Record<string, Record<string, Trained>>> {
  const results: Record<string, Record<string, Trained>> = {};
  for (const precision of ['no', 'bf16'] as const) {
    const ofPrecision: Record<string, Trained> = (results[precision] = {});
    for (const [name, training] of Object.entries(TRAININGS)) {
      ofPrecision[name] = await train(precision, training);
    }
  }
  return results;
}
