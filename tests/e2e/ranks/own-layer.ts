// Trains on its own tfjs backend. The kernel layer of the backend is registered through the public
// contract and does not use libtorch. Reports weights, and how often each slot was used: with the
// layer, and without it.
import * as tf from '@tensorflow/tfjs';
import { MathBackendCPU } from '@tensorflow/tfjs-backend-cpu';
import {
  registerKernelLayer,
  type KernelLayerSlots,
  type NativeDtype,
  type NativeTensor,
  type NativeValues,
} from '@acc/contract';
import { Accelerator } from '@acc/core';
import { gelu } from '@acc/kernels';
import { disposeOptimizers } from '../dispose-optimizers.js';
import { batchOf, makeModel, ROWS, weightsOf } from './small-program.js';

const NAME = 'mine';
const STEPS = 4;

const uses = { toNative: 0, read: 0, fromNative: 0, gelu: 0, dense: 0, apply: 0 };

/** A native tensor of this backend. */
class OwnTensor implements NativeTensor {
  isDisposed = false;

  constructor(
    private readonly values: NativeValues,
    readonly dtype: NativeDtype,
    readonly shape: readonly number[],
  ) {}

  read(): NativeValues {
    uses.read++;
    return this.values;
  }

  dispose(): void {
    this.isDisposed = true;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

const made: OwnTensor[] = [];

/** x·Φ(x), and its derivative Φ(x) + x·φ(x). */
const ownGelu = tf.customGrad((x, save) => {
  const phi = (given: tf.Tensor) => given.mul(Math.SQRT1_2).erf().add(1).mul(0.5);
  const given = x as tf.Tensor;
  (save as tf.GradSaveFunc)([given]);
  return {
    value: given.mul(phi(given)),
    gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => {
      const [of] = saved as [tf.Tensor];
      const density = of
        .square()
        .mul(-0.5)
        .exp()
        .div(Math.sqrt(2 * Math.PI));
      return dy.mul(phi(of).add(of.mul(density)));
    },
  };
});

function sgdStep(optimizer: tf.SGDOptimizer, grads: Parameters<tf.Optimizer['applyGradients']>[0]): void {
  const { learningRate } = optimizer as unknown as { learningRate: number };
  const list = Array.isArray(grads)
    ? grads
    : Object.entries(grads).map(([name, tensor]) => ({ name, tensor }));
  tf.tidy(() => {
    for (const { name, tensor } of list) {
      const variable = tf.engine().registeredVariables[name]!;
      variable.assign(tf.sub(variable, tensor.mul(learningRate)));
    }
  });
}

const slots: KernelLayerSlots = {
  bridge: {
    toNative(x) {
      uses.toNative++;
      const native = new OwnTensor(x.dataSync() as NativeValues, x.dtype as NativeDtype, x.shape);
      made.push(native);
      return native;
    },
    fromNative(native, dtype) {
      uses.fromNative++;
      const values = native.read();
      native.dispose();
      return tf.tensor(values as Float32Array, [...native.shape], dtype);
    },
  },
  functions: {
    gelu(x, approximate) {
      if (approximate === 'tanh') return undefined;
      uses.gelu++;
      return ownGelu(x);
    },
  },
  layerCalls: {
    Dense() {
      uses.dense++;
      return undefined;
    },
  },
  fusedApply: (optimizer) =>
    optimizer.constructor !== tf.SGDOptimizer
      ? undefined
      : (grads) => {
          uses.apply++;
          sgdStep(optimizer as tf.SGDOptimizer, grads);
        },
};

async function train(kind: 'sgd' | 'adam') {
  const before = tf.memory().numTensors;
  const usesBefore = { ...uses };
  const accelerator = await Accelerator.create();
  const [model, optimizer] = accelerator.prepare(
    makeModel(),
    kind === 'sgd' ? tf.train.sgd(0.1) : tf.train.adam(0.02),
  );
  const rows = ROWS / accelerator.numProcesses;
  for (let i = 0; i < STEPS; i++) {
    const { xs, ys } = batchOf(i, rows * accelerator.processIndex, rows);
    optimizer.minimize(() => tf.losses.meanSquaredError(ys, gelu(model.apply(xs) as tf.Tensor)) as tf.Scalar);
    tf.dispose([xs, ys]);
  }
  const sum = tf.tidy(() => [...accelerator.reduce(tf.tensor1d([1, 2]), 'sum').dataSync()]);
  const results = { backend: accelerator.backendName, weights: weightsOf(model), sum };
  const compiled = accelerator.compile((x: tf.Tensor) => x.add(1));
  const one = tf.scalar(1);
  tf.dispose([compiled(one), one]);
  accelerator.freeMemory(model, optimizer);
  disposeOptimizers(optimizer);
  return {
    ...results,
    reason: compiled.reason,
    leaked: tf.memory().numTensors - before,
    uses: Object.fromEntries(
      Object.entries(uses).map(([name, count]) => [name, count - usesBefore[name as keyof typeof uses]]),
    ),
  };
}

export default async function ownLayer() {
  tf.registerBackend(NAME, () => new MathBackendCPU());
  tf.copyRegisteredKernels('cpu', NAME);
  await tf.setBackend(NAME);
  const undo = registerKernelLayer({ backendName: NAME, slotsOf: () => slots });
  const registered = { sgd: await train('sgd'), adam: await train('adam') };
  undo();
  const portable = { sgd: await train('sgd'), adam: await train('adam') };
  await tf.setBackend('acc');
  tf.removeBackend(NAME);
  for (const { kernelName } of tf.getKernelsForBackend(NAME)) tf.unregisterKernel(kernelName, NAME);
  return { registered, portable, kept: made.splice(0).filter(({ isDisposed }) => !isDisposed).length };
}
