// Trains one network on tfjs-node's backend by ddp and by each stage of fsdp, in float32 and in bf16.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

export interface Trained {
  /** Whole, after each step. */
  readonly weights: number[][];
  readonly leaked: number;
  readonly backend: string;
}

const ROWS = 12;
const STEPS = 6;

const WAYS = {
  ddp: {},
  stage1: { strategy: 'fsdp', fsdp: { stage: 1 } },
  stage2: { strategy: 'fsdp', fsdp: { stage: 2 } },
  stage3: { strategy: 'fsdp', fsdp: { bucketBytes: 1 } },
  'ddp, bf16': { mixedPrecision: 'bf16' },
  'stage3, bf16': { strategy: 'fsdp', mixedPrecision: 'bf16' },
  'stage3, param bf16': { strategy: 'fsdp', fsdp: { mixedPrecision: { param: 'bf16' } } },
  accumulated: { gradientAccumulationSteps: 3, gradientClipping: { norm: 0.3 } },
} satisfies Record<string, AcceleratorOptions>;
export type Way = keyof typeof WAYS;
export type Result = Record<Way, Trained>;

/** Ranks start from rank 0's values. */
function weightsOf(rank: number): tf.Variable[] {
  return [[4, 7], [7], [7, 3], [3]].map((shape, place) => {
    const size = shape.reduce((a, b) => a * b);
    return tf.tidy(() =>
      tf.variable(
        tf
          .sin(tf.range(0, size))
          .mul(0.5 + rank)
          .reshape(shape),
        true,
        `w${place}`,
      ),
    );
  });
}

async function train(options: AcceleratorOptions): Promise<Trained> {
  const accelerator = await Accelerator.create({ engine: 'tfjs', ...options });
  const { processIndex: rank, numProcesses: size } = accelerator;
  const weights = weightsOf(rank);
  const [w1, b1, w2, b2] = weights as [
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
  ];
  const optimizer = tf.train.adam(0.02);
  accelerator.prepare(weights, optimizer);
  const rows = ROWS / size;
  const lossOf = (step: number) => () => {
    const all = tf.sin(tf.range(0, ROWS * 4).add(step * 50)).reshape([ROWS, 4]);
    const x = all.slice(rank * rows, rows) as tf.Tensor2D;
    return tf
      .matMul(tf.tanh(tf.matMul(x, w1).add(b1)) as tf.Tensor2D, w2)
      .add(b2)
      .sub(1)
      .square()
      .mean() as tf.Scalar;
  };
  const counts = () => {
    const { binding } = tf.backend() as unknown as { binding: { getNumOfTensors(): number } };
    return tf.memory().numTensors + binding.getNumOfTensors();
  };
  const read = () => weights.flatMap((weight) => [...weight.dataSync()]);
  const trained: number[][] = [];
  let before = 0;
  for (let step = 0; step < STEPS; step++) {
    if (step === 3) before = counts();
    tf.tidy(() => {
      const minimize = () => void optimizer.minimize(lossOf(step), false, weights);
      if (options.gradientAccumulationSteps) accelerator.accumulate(minimize);
      else minimize();
    });
    trained.push(read());
  }
  const result = { weights: trained, leaked: counts() - before, backend: accelerator.backendName };
  accelerator.freeMemory(...weights, optimizer);
  tf.dispose(weights);
  return result;
}

createRequire(join(process.argv[2]!, 'package.json'))('@tensorflow/tfjs-node');
await tf.setBackend('tensorflow');
const results: Partial<Result> = {};
for (const [way, options] of Object.entries(WAYS)) results[way as Way] = await train(options);
reportResult(results);
