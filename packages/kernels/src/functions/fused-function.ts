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
import { isTaped, onSeparateTape, requireFirstOrder } from '../tape.js';

/** Arguments of a function's forward kernel. It borrows its inputs; the caller owns the result. */
export interface ForwardCall<Attrs> {
  readonly inputs: readonly TensorInfo[];
  readonly attrs: Attrs;
  readonly backend: AccBackend;
  /**
   * Whether a gradient may follow. If so, `forward` attaches to the result what the gradient needs.
   */
  readonly isTaped: boolean;
}

/** Arguments of the gradient kernel. It borrows all tensors. */
export interface BackwardCall<Attrs> {
  readonly dy: TensorInfo;
  readonly inputs: readonly TensorInfo[];
  readonly output: TensorInfo;
  readonly attrs: Attrs;
  readonly backend: AccBackend;
}

export interface FusedFunctionOptions<Attrs> {
  /**
   * Kernel name on tfjs's tape and in `tf.profile`. The gradient kernel's name has the suffix
   * `Grad`.
   */
  readonly kernelName: string;
  forward(call: ForwardCall<Attrs>): TensorInfo;
  /**
   * False if `backward` reads no values of `output`, only the tensors attached to it. The memory of
   * `output` is then not kept for the gradient. Default true.
   */
  readonly needsOutput?: boolean;
  /**
   * False if `backward` reads the tensors attached to this `output` in place of the first input.
   * The memory of the first input is then not kept for the gradient. Default true.
   */
  keepsFirst?(backend: AccBackend, output: TensorInfo): boolean;
  /**
   * Gradients of the first inputs, in input order. Plain ops compute the gradients of any further
   * inputs.
   */
  backward(call: BackwardCall<Attrs>): TensorInfo[];
  /** The same function in tfjs ops, each of which has a gradient of its own. */
  plain(inputs: readonly Tensor[], attrs: Attrs): Tensor;
}

/** A function of tensors that is one native kernel on `acc`. The caller owns its results. */
export interface FusedFunction<Attrs> {
  readonly kernels: readonly KernelConfig[];
  readonly gradient: GradConfig;
  /** Runs the kernel. `acc` must be the active backend. */
  run(inputs: readonly Tensor[], attrs: Attrs): Tensor;
  /** Runs the plain ops. Works on every backend. */
  plain(inputs: readonly Tensor[], attrs: Attrs): Tensor;
}

/**
 * Makes the kernels, the gradient and the call of a function. The tape holds the function as one
 * operator, and its gradient is one native kernel too. Inside another gradient computation (second
 * derivatives), plain ops compute the gradient, because tfjs can differentiate those again.
 */
/* @__NO_SIDE_EFFECTS__ */
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
      return onSeparateTape(() => grad(ofInput)(x, dy));
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
