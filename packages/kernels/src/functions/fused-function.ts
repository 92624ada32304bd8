import {
  engine,
  grad,
  tidy,
  type GradConfig,
  type KernelConfig,
  type NamedAttrMap,
  type NamedTensorMap,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { AccBackend } from '../backend.js';
import { isStandIn, withoutValues } from '../gradients/saved-shapes.js';
import { kernel } from '../kernel.js';
import { isTaped, onOwnTape, requireFirstOrder } from '../tape.js';

/** What the forward kernel of a function works on. Inputs are borrowed, its result is the caller's. */
export interface ForwardCall<Attrs> {
  readonly inputs: readonly TensorInfo[];
  readonly attrs: Attrs;
  readonly backend: AccBackend;
  /** Whether a gradient may follow, for which something is to be attached to the result. */
  readonly isTaped: boolean;
}

/** What the gradient's kernel works on. All is borrowed. */
export interface BackwardCall<Attrs> {
  readonly dy: TensorInfo;
  readonly inputs: readonly TensorInfo[];
  readonly output: TensorInfo;
  readonly attrs: Attrs;
  readonly backend: AccBackend;
}

export interface FusedFunctionOptions<Attrs> {
  /** Its name on tfjs's tape and in `tf.profile`; that of its gradient ends in `Grad`. */
  readonly kernelName: string;
  forward(call: ForwardCall<Attrs>): TensorInfo;
  /** False when `backward` takes no values of `output`, only what was attached to it: its memory isn't kept. Default true. */
  readonly needsOutput?: boolean;
  /** False when what is attached to this `output` does in place of the first input, whose memory isn't kept then. Default true. */
  keepsFirst?(backend: AccBackend, output: TensorInfo): boolean;
  /** Gradients of the first inputs, in their order; those of further ones are computed by plain ops. */
  backward(call: BackwardCall<Attrs>): TensorInfo[];
  /** The same numbers in tfjs's ops, each with a gradient of its own. */
  plain(inputs: readonly Tensor[], attrs: Attrs): Tensor;
}

/** A function of tensors that is one native kernel on `acc`. Its results are the caller's. */
export interface FusedFunction<Attrs> {
  readonly kernels: readonly KernelConfig[];
  readonly gradient: GradConfig;
  /** Runs the kernel: while `acc` is active. */
  run(inputs: readonly Tensor[], attrs: Attrs): Tensor;
  /** Runs the plain ops: on every backend. */
  plain(inputs: readonly Tensor[], attrs: Attrs): Tensor;
}

/**
 * Makes the kernels, the gradient and the call of a function. On the tape it is one operator whose gradient is one native
 * kernel too. Inside another gradient computation (second derivatives) the gradient comes from the plain ops, which tfjs
 * can differentiate again.
 */
export function fusedFunction<Attrs extends object>(
  options: FusedFunctionOptions<Attrs>,
): FusedFunction<Attrs> {
  const { kernelName, forward, backward, plain, needsOutput = true, keepsFirst } = options;
  const gradientName = `${kernelName}Grad`;
  const run = (name: string, inputs: readonly (Tensor | TensorInfo)[], attrs: Attrs) =>
    engine().runKernel(name, inputs as unknown as NamedTensorMap, attrs as unknown as NamedAttrMap);

  const gradFunc = (dy: Tensor, saved: readonly Tensor[], attrs: Attrs): (() => Tensor)[] => {
    const inputs = saved.slice(0, -1);
    const byPlainOps = inputs.map((x, i) => () => {
      const ofInput = (value: Tensor) => plain(inputs.with(i, value), attrs);
      return onOwnTape(() => grad(ofInput)(x, dy));
    });
    if (isTaped()) {
      if (keepsFirst && isStandIn(saved[0]!)) requireFirstOrder(kernelName);
      return byPlainOps;
    }
    const grads = run(gradientName, [dy, ...saved], attrs) as unknown as Tensor[];
    return byPlainOps.map((inPlainOps, i) => {
      const fused = grads[i];
      return fused ? () => fused : inPlainOps;
    });
  };

  const gradient: GradConfig = {
    kernelName,
    saveAllInputs: true,
    outputsToSave: [true],
    gradFunc: gradFunc as unknown as GradConfig['gradFunc'],
  };
  const valueless = keepsFirst
    ? (saved: readonly Tensor[], backend: AccBackend) =>
        keepsFirst(backend, saved.at(-1)!) ? 'last' : 'firstAndLast'
    : 'last';
  return {
    kernels: [
      kernel<readonly TensorInfo[], Attrs>(kernelName, ({ inputs, attrs, backend }) =>
        forward({ inputs, attrs, backend, isTaped: isTaped() }),
      ),
      kernel<readonly TensorInfo[], Attrs>(gradientName, ({ inputs, attrs, backend }) =>
        backward({ dy: inputs[0]!, inputs: inputs.slice(1, -1), output: inputs.at(-1)!, attrs, backend }),
      ),
    ],
    gradient: needsOutput ? gradient : withoutValues(gradient, valueless),
    run: (inputs, attrs) => run(kernelName, inputs, attrs) as Tensor,
    plain: (inputs, attrs) => tidy(() => plain(inputs, attrs)),
  };
}
