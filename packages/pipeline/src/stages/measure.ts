import { dispose, ones, zeros, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type RunForward } from '@acc/contract';
import type { GraphCall, LayerGraph } from '@acc/tfjs-internals';
import { layerCalls } from './plan.js';

/** The rows of the batch that is measured, and the size of other dims that the model leaves open, on all ranks. */
const ROWS = 4;
const OPEN_DIM = 8;
const TIMES = 3;

/**
 * The time that each layer call takes forward and backward, in milliseconds, on a small batch of
 * zeros: the median of a few. Layers run as in prediction, so no statistics change.
 *
 * @param pieces The number of ranks that each have a piece of a sequence.
 * @throws AccError `ACC_PIPELINE_STAGES` if the model cannot run on such a batch.
 */
export function measureCosts(model: LayerGraph, runForward: RunForward, pieces: number): number[] {
  const openDim = Math.max(1, Math.floor(OPEN_DIM / pieces));
  const values = new Map<number, Tensor>();
  try {
    for (const { id, shape, dtype } of model.inputs) {
      const dims = shape.map((dim, i) => dim ?? (i === 0 ? ROWS : openDim));
      values.set(id, zeros(dims, dtype));
    }
    const given = new Set(values.keys());
    return layerCalls(model).map((call) => costOf(call, { values, given, runForward }));
  } catch (error) {
    throw new AccError(
      'ACC_PIPELINE_STAGES',
      `The costs of the layers could not be measured on a batch of ${ROWS} rows of zeros, with ${openDim} for other open dims.`,
      { help: 'Name the layers of each stage: stages: [[…], […]].', cause: error },
    );
  } finally {
    dispose([...values.values()]);
  }
}

interface Measurement {
  /** The values so far, by id. */
  readonly values: Map<number, Tensor>;
  /** The inputs of the model, which have no gradient: they may be numbers of rows to gather. */
  readonly given: ReadonlySet<number>;
  readonly runForward: RunForward;
}

/** Also adds the results of the call to the values. */
function costOf(
  { layer, inputs, outputs }: GraphCall,
  { values, given: modelInputs, runForward }: Measurement,
): number {
  const given = inputs.map((id) => values.get(id)!);
  const weights = layer.trainableWeights.map((weight) => weight.read());
  const made = inputs.filter((id) => !modelInputs.has(id)).map((id) => values.get(id)!);
  const xs = [...made.filter(({ dtype }) => dtype === 'float32'), ...weights];
  const times: number[] = [];
  for (let i = 0; i < TIMES + 1; i++) {
    const begin = performance.now();
    const results = run();
    times.push(performance.now() - begin);
    outputs.forEach((id, k) => {
      if (i === 0) values.set(id, results[k]!);
      else results[k]?.dispose();
    });
  }
  // The first run also chooses kernels.
  return times.slice(1).sort((a, b) => a - b)[Math.floor(TIMES / 2)]!;

  function run(): readonly Tensor[] {
    const pass = runForward(() => {
      const result = layer.apply(given);
      const tensors = (Array.isArray(result) ? result : [result]) as Tensor[];
      // A layer may return its input, which has another owner.
      return tensors.map((tensor) => (given.includes(tensor) ? tensor.clone() : tensor));
    }, xs);
    const dys = pass.outputs.map(({ shape, dtype }) => (dtype === 'float32' ? ones(shape) : null));
    // Terms that layers add to the loss are part of what they cost.
    const grads = pass.backward(dys, 1);
    // Reading waits until the device has computed.
    for (const each of [...pass.outputs, ...grads]) each?.dataSync();
    dispose([...dys, ...grads].filter((each) => each !== null));
    return pass.outputs;
  }
}
