// Two models with one optimizer each, prepared in two calls and trained alternately. Some variables
// are used by one rank only, some twice. Reports by tfjs backend (acc | cpu).
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { disposeOptimizers } from '../dispose-optimizers.js';

const dense = (units: number, inputs: number, seed: number) =>
  tf.sequential({
    layers: [
      tf.layers.dense({
        units,
        inputShape: [inputs],
        kernelInitializer: tf.initializers.glorotNormal({ seed }),
      }),
    ],
  });

const TOTAL = 12;
const noise = () => tf.sin(tf.range(0, TOTAL * 3)).reshape([TOTAL, 3]);
const real = () => tf.cos(tf.range(0, TOTAL * 2)).reshape([TOTAL, 2]);

interface Pair {
  readonly generator: tf.Sequential;
  readonly generatorOptimizer: tf.Optimizer;
  readonly discriminator: tf.Sequential;
  readonly discriminatorOptimizer: tf.Optimizer;
}

function trainPair(pair: Pair, part: (x: tf.Tensor) => tf.Tensor): void {
  const { generator, generatorOptimizer, discriminator, discriminatorOptimizer } = pair;
  for (let step = 0; step < 10; step++) {
    tf.tidy(() => {
      const realPart = part(real());
      const fake = generator.predict(part(noise())) as tf.Tensor;
      discriminatorOptimizer.minimize(
        () => {
          const onReal = discriminator.predict(realPart) as tf.Tensor;
          const onFake = discriminator.predict(fake) as tf.Tensor;
          return tf.losses
            .sigmoidCrossEntropy(tf.onesLike(onReal), onReal)
            .add(tf.losses.sigmoidCrossEntropy(tf.zerosLike(onFake), onFake)) as tf.Scalar;
        },
        false,
        discriminator.getWeights(true) as tf.Variable[],
      );
      generatorOptimizer.minimize(
        () => {
          const judged = discriminator.predict(generator.predict(part(noise())) as tf.Tensor) as tf.Tensor;
          return tf.losses.sigmoidCrossEntropy(tf.onesLike(judged), judged) as tf.Scalar;
        },
        false,
        generator.getWeights(true) as tf.Variable[],
      );
    });
  }
}

async function train(backend: string): Promise<object> {
  if (backend === 'cpu') await tf.setBackend('cpu');
  const accelerator = await Accelerator.create({ engine: backend === 'cpu' ? 'tfjs' : 'acc' });
  const { processIndex: r, numProcesses: size } = accelerator;
  const [generator, generatorOptimizer] = accelerator.prepare(dense(2, 3, 1), tf.train.adam(0.01));
  const discriminator = accelerator.prepare(dense(1, 2, 2));
  const discriminatorOptimizer = accelerator.prepare(tf.train.sgd(0.05));
  const unprepared = tf.variable(tf.scalar(r));
  const sometimes = tf.variable(tf.scalar(5), true, 'sometimes');
  const never = tf.variable(tf.scalar(9), true, 'never');
  const twice = tf.variable(tf.tensor1d([2, 3]), true, 'twice');
  accelerator.prepare([sometimes, never, twice]);
  const part = (x: tf.Tensor) => x.slice(r * (TOTAL / size), TOTAL / size);
  trainPair({ generator, generatorOptimizer, discriminator, discriminatorOptimizer }, part);

  // Only the last rank uses `sometimes`, and no rank `never`; gradients of `unprepared` stay local.
  const { grads } = tf.variableGrads(() => {
    const used = unprepared.mul(r + 1);
    return (r === size - 1 ? used.add(sometimes.mul(size)) : used) as tf.Scalar;
  }, [sometimes, never, unprepared]);

  // Used by two operators far apart, and listed twice: there is one gradient, for both uses.
  const ofTwice = tf.variableGrads(() => {
    const square = twice.mul(twice);
    return tf
      .sin(square.mul(r + 1))
      .add(square)
      .sum()
      .add(twice.sum()) as tf.Scalar;
  }, [twice, sometimes, twice]).grads;

  const result = {
    backend: accelerator.backendName,
    twice: [...ofTwice['twice']!.dataSync()],
    weights: [...generator.getWeights(), ...discriminator.getWeights()].map((w) => [...w.dataSync()]),
    sometimes: grads['sometimes']?.dataSync()[0],
    hasNever: 'never' in grads,
    unprepared: grads[unprepared.name]?.dataSync()[0],
  };
  accelerator.freeMemory();
  tf.disposeVariables();
  disposeOptimizers(generatorOptimizer, discriminatorOptimizer);
  return result;
}

export default async function gan(backends: readonly string[]): Promise<Record<string, object>> {
  const results: Record<string, object> = {};
  for (const backend of backends) results[backend] = await train(backend);
  await tf.setBackend('acc');
  return results;
}
