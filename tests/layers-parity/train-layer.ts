import * as tf from '@tensorflow/tfjs';
import { batchOf, makeInputs, makeTargets, setWeights } from './case-data.js';
import type { LayerCase } from './layer-case.js';
import { Scale } from './scale.js';

/** A tensor as plain values, without its backend. */
export interface Observed {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** The observations of a training by name: `prediction`, `gradients of step 1`, `weights`. */
export type Trained = Readonly<Record<string, readonly Observed[]>>;

const STEPS = 2;
const LEARNING_RATE = 0.05;

/**
 * Predicts, takes steps of `trainOnBatch` whose gradients it records, trains two epochs of `fit`,
 * and evaluates and predicts again. It uses the active backend and the same initial weights each
 * time. Disposes all tensors that it creates.
 *
 * @param prepare Is called with the new model.
 */
export async function trainLayer(
  layerCase: LayerCase,
  prepare: (model: tf.LayersModel) => void,
): Promise<Trained> {
  const model = makeModel(layerCase);
  setWeights(model);
  prepare(model);
  const batchSize = batchOf(layerCase);
  const inputs = makeInputs(layerCase);
  const targets = model.outputs.map(({ shape }, i) => makeTargets(layerCase, shape.slice(1) as number[], i));
  const trained: Record<string, Observed[]> = { prediction: read(() => model.predict(inputs)) };

  const optimizer = tf.train.sgd(LEARNING_RATE);
  const gradients = compile(model, layerCase, optimizer);
  for (let step = 1; step <= STEPS; step++) {
    trained[`losses of step ${step}`] = numbers(await model.trainOnBatch(inputs, targets));
    trained[`gradients of step ${step}`] = gradients.splice(0);
  }
  const { history } = await model.fit(inputs, targets, {
    epochs: 2,
    batchSize,
    shuffle: false,
    verbose: 0,
  });
  trained['history'] = Object.values(history).flatMap((values) => numbers(values as number[]));
  trained['gradients of fit'] = gradients;
  trained['evaluation'] = read(() => model.evaluate(inputs, targets, { batchSize }));
  trained['weights'] = model.weights.map((weight) => observe(weight.read()));
  trained['prediction after training'] = read(() => model.predict(inputs));

  optimizer.dispose();
  tf.dispose([inputs, targets]);
  model.dispose();
  return trained;
}

/** The inputs, {@link Scale} if the case begins with it, and the layers of the case. */
function makeModel(layerCase: LayerCase): tf.LayersModel {
  const { fixedBatch, holds, inputs: shapes, make } = layerCase;
  const { scaled = holds !== 'ids' } = layerCase;
  const scale = (x: tf.SymbolicTensor) => new Scale().apply(x) as tf.SymbolicTensor;
  const inputs = shapes.map((shape) =>
    tf.input(fixedBatch ? { batchShape: [batchOf(layerCase), ...shape] } : { shape: [...shape] }),
  );
  let x = scaled ? inputs.map(scale) : inputs;
  for (const layer of [make(tf.layers)].flat()) {
    x = [layer.apply(x.length === 1 ? x[0]! : x)].flat() as tf.SymbolicTensor[];
  }
  return tf.model({ inputs, outputs: x });
}

/** Compiles with `optimizer`, and returns the list to which each step adds its gradients. */
function compile(
  model: tf.LayersModel,
  { loss = 'meanSquaredError', metrics = [] }: LayerCase,
  optimizer: tf.Optimizer,
): Observed[] {
  model.compile({ optimizer, loss, metrics });
  const recorded: Observed[] = [];
  const apply = optimizer.applyGradients.bind(optimizer);
  optimizer.applyGradients = (gradients) => {
    const list = Array.isArray(gradients) ? gradients.map(({ tensor }) => tensor) : Object.values(gradients);
    recorded.push(...list.map(observe));
    apply(gradients);
  };
  return recorded;
}

function read(compute: () => tf.Tensor | tf.Tensor[]): Observed[] {
  const tensors = [compute()].flat();
  const observed = tensors.map(observe);
  tf.dispose(tensors);
  return observed;
}

const observe = (x: tf.Tensor): Observed => ({ shape: x.shape, values: [...x.dataSync()] });

const numbers = (values: number | number[]): Observed[] => [{ shape: [], values: [values].flat() }];
