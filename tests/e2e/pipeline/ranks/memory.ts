// Measures what two ranks keep of a model in two stages.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type PipelineOptions } from '@acc/core';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { disposeOptimizers } from '../../dispose-optimizers.js';

export interface Memory {
  /** Bytes above those before a step, at the highest. */
  readonly peak: number;
  /** Bytes of all weights of the model, and those that this rank has memory for. */
  readonly weights: number;
  readonly held: number;
  /** Bytes after 5 steps minus those after 3. */
  readonly grown: number;
}

export interface Report {
  readonly gpipe: Memory;
  readonly '1f1b': Memory;
  readonly 'gpipe, checkpointed': Memory;
  readonly '1f1b, checkpointed': Memory;
  readonly beyondWeights: number;
}

const [WIDTH, ROWS, LAYERS, MICRO_BATCHES] = [64, 2048, 6, 8];

async function measure(schedule: PipelineOptions['schedule'], checkpointEvery?: number): Promise<Memory> {
  const accelerator = await Accelerator.create({
    ...{ engine: 'acc', mesh: { pipeline: 2 } },
    ...(checkpointEvery && { checkpointEvery }),
  });
  const before = memoryStats().allocatedBytes;
  const layers = Array.from({ length: LAYERS }, (_, i) =>
    tf.layers.dense({ name: `layer${i}`, units: WIDTH, activation: 'tanh', inputShape: [WIDTH] }),
  );
  const model = tf.sequential({ layers });
  const optimizer = tf.train.sgd(0.01);
  accelerator.prepare(model, optimizer);
  const weights = memoryStats().allocatedBytes - before;
  const names = layers.map(({ name }) => name);
  const step = accelerator.pipelined(
    model,
    (yTrue: tf.Tensor, yPred: tf.Tensor) => yTrue.sub(yPred).square().mean(),
    { schedule, microBatches: MICRO_BATCHES, stages: [names.slice(0, 3), names.slice(3)] },
  );
  const held = memoryStats().allocatedBytes - before;
  const [xs, ys] = [tf.ones([ROWS, WIDTH]), tf.zeros([ROWS, WIDTH])];
  const after: number[] = [];
  let peak = 0;
  for (let i = 0; i < 5; i++) {
    resetPeakMemory();
    const { allocatedBytes } = memoryStats();
    step(xs, ys).dispose();
    peak = memoryStats().peakAllocatedBytes - allocatedBytes;
    after.push(memoryStats().allocatedBytes);
  }
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.dispose([xs, ys]);
  tf.disposeVariables();
  return { peak, weights, held, grown: after[4]! - after[2]! };
}

/** Bytes that `prepare` needs beside the weights of a model of 40 MiB. */
async function beyondWeights(): Promise<number> {
  const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 } });
  const units = { units: 1024, inputShape: [1024], kernelInitializer: 'zeros' as const };
  const model = tf.sequential({ layers: Array.from({ length: 10 }, () => tf.layers.dense(units)) });
  const optimizer = tf.train.sgd(0.01);
  resetPeakMemory();
  const { allocatedBytes } = memoryStats();
  accelerator.prepare(model, optimizer);
  const beyond = memoryStats().peakAllocatedBytes - allocatedBytes;
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  return beyond;
}

export default async function memory(): Promise<Report> {
  return {
    gpipe: await measure('gpipe'),
    '1f1b': await measure('1f1b'),
    'gpipe, checkpointed': await measure('gpipe', LAYERS / 2),
    '1f1b, checkpointed': await measure('1f1b', LAYERS / 2),
    beyondWeights: await beyondWeights(),
  };
}
