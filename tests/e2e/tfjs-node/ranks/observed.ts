// Trains on tfjs-node's backend, with trackers of services, and counts what moves in a step.
// Arguments: a project with tfjs-node, a folder for files, the address of MLflow, and W&B's program.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { memoryStats, observeCalls, resetPeakMemory, Tensor } from '@acc/native';
import { reportResult } from '@acc/testkit';
import { mlflowTracker } from '@acc/tracker-mlflow';
import { wandbTracker } from '@acc/tracker-wandb';
import type { TensorflowBackend } from '../../../../packages/engine-tfjs-node/src/backend.js';

/** Bytes of large arrays in one step, and the names of libtorch's operators that it runs. */
export interface Moved {
  readonly fromTensorflow: number;
  readonly toTensorflow: number;
  readonly fromLibtorch: number;
  /** The most bytes that libtorch allocates at a time. */
  readonly inLibtorch: number;
  readonly operators: readonly string[];
}

export interface Observed {
  readonly backend: string;
  readonly losses: number[];
  readonly moved: Moved;
  /** MLflow's id of the run. Undefined on ranks that do not record. */
  readonly mlflowRun: string | undefined;
}

/** Only gradients are as large as this. */
const LARGE_BYTES = 4096;

const [project = '', projectDir = '', url = '', program = ''] = process.argv.slice(2);
createRequire(join(project, 'package.json'))('@tensorflow/tfjs-node');

const nothing = { fromTensorflow: 0, toTensorflow: 0, fromLibtorch: 0, inLibtorch: 0 };
const moved = { ...nothing, operators: [] as string[] };
const count = (kind: 'fromTensorflow' | 'toTensorflow' | 'fromLibtorch', { byteLength }: ArrayBufferView) => {
  if (byteLength >= LARGE_BYTES) moved[kind] += byteLength;
};

/** Counts at the borders of TensorFlow and of libtorch. Values pass unchanged. */
function observe(): void {
  const backend = tf.backend() as unknown as { binding: TensorflowBackend['binding'] };
  const { binding } = backend;
  const tensorDataSync = (id: number) => {
    const values = binding.tensorDataSync(id);
    count('fromTensorflow', values as Float32Array);
    return values;
  };
  const createTensor = (...[shape, dtype, values]: Parameters<typeof binding.createTensor>) => {
    count('toTensorflow', values as Float32Array);
    return binding.createTensor(shape, dtype, values);
  };
  backend.binding = Object.create(binding, {
    tensorDataSync: { value: tensorDataSync },
    createTensor: { value: createTensor },
  }) as typeof binding;
  const read = Object.getOwnPropertyDescriptor(Tensor.prototype, 'read')!.value as Tensor['read'];
  Tensor.prototype.read = function (this: Tensor) {
    const values = read.call(this);
    count('fromLibtorch', values);
    return values;
  };
}

observe();
const accelerator = await Accelerator.create({
  projectDir,
  logWith: [mlflowTracker({ url }), wandbTracker({ program })],
});
const weights = [
  [32, 64],
  [64, 32],
].map((shape) =>
  tf.tidy(() =>
    tf.variable(
      tf
        .sin(tf.range(0, 2048))
        .mul(0.1)
        .reshape(shape as [number, number]),
    ),
  ),
);
const [variables, optimizer] = accelerator.prepare(weights, tf.train.sgd(0.1));
const batch = tf.tidy(() => tf.cos(tf.range(0, 128).add(accelerator.processIndex)).reshape([4, 32]));
const lossOf = () =>
  tf.tidy(() => {
    const [first, second] = variables as tf.Tensor[] as [tf.Tensor2D, tf.Tensor2D];
    return tf
      .matMul(tf.tanh(tf.matMul(batch as tf.Tensor2D, first)), second)
      .square()
      .mean() as tf.Scalar;
  });

await accelerator.initTrackers('observed', { engine: accelerator.backendName });
const losses: number[] = [];
let allocatedBefore = 0;
let endObserving = () => {};
for (let step = 0; step < 3; step++) {
  if (step === 2) {
    Object.assign(moved, nothing);
    resetPeakMemory();
    allocatedBefore = memoryStats().allocatedBytes;
    endObserving = observeCalls((name) => moved.operators.push(name));
  }
  const loss = optimizer.minimize(lossOf, true)!;
  // From here on, calls are not of the step.
  endObserving();
  moved.inLibtorch = memoryStats().peakAllocatedBytes - allocatedBefore;
  accelerator.log({ loss }, { step });
  losses.push(loss.dataSync()[0]!);
  loss.dispose();
}
const mlflowRun = accelerator.getTracker('mlflow')?.runId;
await accelerator.endTraining();
reportResult({ backend: accelerator.backendName, losses, moved, mlflowRun } satisfies Observed);
