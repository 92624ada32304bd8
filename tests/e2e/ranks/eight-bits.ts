// Trains dense layers with products in 8 bits, as each strategy and with a compiled step.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, parallelize } from '@acc/core';
import { observeCalls } from '@acc/native';
import { disposeOptimizers } from '../dispose-optimizers.js';

export const KINDS = ['ddp', 'fsdp', 'tensor', 'compiled', 'deterministic', 'bf16'] as const;
export type Kind = (typeof KINDS)[number];
export const FORMATS = ['int8', 'fp8', 'delayed fp8'] as const;
export type Format = (typeof FORMATS)[number];

// Batches of 24 rows, which 2 and 3 ranks divide.
const ROWS = 96;

const dense = (units: number, seed: number, more: object = {}) =>
  tf.layers.dense({ units, kernelInitializer: tf.initializers.glorotNormal({ seed }), ...more });

export interface EightBitTraining {
  readonly weights: number[][];
  readonly losses: number[];
  /** The number of products in 8 bits. */
  readonly products: number;
}

/** Trains for two epochs of four steps. `bf16` has no product in 8 bits. */
export async function trainIn8Bits(format: Format, kind: Kind): Promise<EightBitTraining> {
  const accelerator = await Accelerator.create({
    engine: 'acc',
    mixedPrecision: kind === 'bf16' ? 'bf16' : format === 'int8' ? 'int8' : 'fp8',
    ...(kind !== 'bf16' && {
      amp: { exclude: [], ...(format === 'delayed fp8' && { fp8: { scaling: 'delayed', amaxHistory: 3 } }) },
    }),
    dataLoader: { splitBatches: true },
    ...(kind === 'deterministic' && { deterministic: true }),
    ...(kind === 'fsdp' && { strategy: 'fsdp' }),
    ...(kind === 'tensor' && { mesh: { tensor: -1 } }),
  });
  const model = tf.sequential({
    layers: [
      dense(24, 1, { inputShape: [8], activation: 'relu', name: 'expand' }),
      dense(8, 2, { name: 'contract' }),
      dense(4, 3, { name: 'head' }),
    ],
  });
  if (kind === 'tensor') parallelize(model, { expand: 'column', contract: 'row', head: 'replicated' });
  const xs = tf.sin(tf.range(0, ROWS * 8)).reshape([ROWS, 8]) as tf.Tensor2D;
  const ys = tf.cos(tf.range(0, ROWS * 4)).reshape([ROWS, 4]) as tf.Tensor2D;
  const loader = new DataLoader({ xs, ys }, { batchSize: 24 });
  const [, optimizer, batches] = accelerator.prepare(model, tf.train.sgd(0.2), loader);
  const step = (x: tf.Tensor, y: tf.Tensor) =>
    optimizer.minimize(
      () => tf.losses.meanSquaredError(y, model.apply(x, { training: true }) as tf.Tensor) as tf.Scalar,
      true,
    )!;
  const compiled = kind === 'compiled' ? accelerator.compile(step) : undefined;
  const losses: number[] = [];
  let products = 0;
  const endObserving = observeCalls((name, args) => {
    if (name === 'acc::int8_matmul') products++;
    // Each factor becomes 8-bit floats.
    if (name === 'aten::_to_copy' && String(args[1]).startsWith('float8')) products += 0.5;
  });
  for (let epoch = 0; epoch < 2; epoch++) {
    for await (const batch of batches) {
      const loss = (compiled ?? step)(batch.xs, batch.ys);
      losses.push(loss.dataSync()[0]!);
      tf.dispose([batch.xs, batch.ys, loss]);
    }
  }
  endObserving();
  if (compiled && compiled.replays === 0) throw new Error(`not replayed: ${compiled.reason}`);
  const weights = model.getWeights().map((w) => [...w.dataSync()]);
  accelerator.freeMemory();
  model.dispose();
  disposeOptimizers(optimizer);
  tf.dispose([xs, ys]);
  return { weights, losses, products };
}
