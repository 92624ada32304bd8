import {
  concat,
  engine,
  matMul,
  reshape as reshapeTensor,
  slice,
  transpose,
  type GradConfig,
  type KernelConfig,
  type NamedAttrMap,
  type NamedTensorMap,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { operator, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { product } from '../families/product.js';
import { inDtype } from '../functions/float32.js';
import { kernel } from '../kernel.js';
import { isTaped, requireFirstOrder } from '../tape.js';

// LSTM and GRU over whole sequences. One matrix product computes the contribution of the inputs to
// the gates for all steps. `acc::lstm` and `acc::gru` (cpp/engine/kernels/recurrent) then run step by
// step. One product computes the gradient of each weight. Suffixes of names are dims: B batch, T
// steps, H width of the state, G width of all gates, I width of the inputs, N = T·B.

/** Activations that the operators support, by their tfjs names. */
export const RECURRENT_ACTIVATIONS: readonly string[] = ['linear', 'relu', 'tanh', 'sigmoid', 'hardSigmoid'];

export interface RecurrentAttrs {
  readonly activation: string;
  readonly gateActivation: string;
  readonly hasBias: boolean;
  /** Whether the inputs include the states before the first step; otherwise those states are 0. */
  readonly hasStates: boolean;
  /**
   * True: returns the outputs of all steps, `[B, T, H]`. False: returns the last output, `[B, H]`.
   */
  readonly returnsSequence: boolean;
  /** Whether to return the last states too. */
  readonly returnsStates: boolean;
}

type Native = NativeTensor;

/**
 * The computation of one kind of layer. It borrows all native tensors; the caller owns the results.
 */
export interface Recurrence {
  readonly kernelName: string;
  readonly states: number;
  /**
   * Adds the recurrent part to the input part in `gates_TBG` and applies the activations, in place.
   * Returns h `[T + 1, B, H]` and the other tensors to keep for the gradient.
   */
  run(gates_TBG: Native, weight: Native, states: readonly (Native | null)[], attrs: RecurrentAttrs): Native[];
  /** Indices of those results of `run` whose last step is a state. */
  readonly stateOf: readonly number[];
  /**
   * Returns the gradients of the gates before their activations, of the states before the first
   * step, and of the bias. The last one is empty without a bias.
   */
  runBackward(
    dSequence_TBH: Native | null,
    dStates: readonly (Native | null)[],
    kept: readonly Native[],
    weight: Native,
    attrs: RecurrentAttrs,
  ): Native[];
  /**
   * Indices of those kept tensors (the gates are at 0) that the recurrent weight multiplied at each
   * step.
   */
  readonly multiplied: readonly number[];
  /** Returns the gradient of the recurrent weight. */
  ofWeight(dGates_NG: Tensor, multiplied_NH: readonly Tensor[]): Tensor;
}

const permute = operator('aten::permute');
const reshape = operator('aten::reshape');
const narrow = operator('aten::narrow');
const select = operator('aten::select.int');
const clone = operator('aten::clone');
const lstmForward = operatorWithResults('acc::lstm');
const lstmBackward = operatorWithResults('acc::lstm_backward');
const gruForward = operatorWithResults('acc::gru');
const gruBackward = operatorWithResults('acc::gru_backward');

export const LSTM: Recurrence = {
  kernelName: 'AccLstm',
  states: 2,
  stateOf: [0, 1],
  run: (gates, weight, [h0, c0], { activation, gateActivation }) =>
    lstmForward(gates, weight, h0, c0, activation, gateActivation) as Native[],
  runBackward: (dSequence, [dh, dc], [gates, , c], weight, { activation, gateActivation, hasBias }) =>
    lstmBackward(dSequence, dh, dc, gates, c, weight, activation, gateActivation, hasBias) as Native[],
  multiplied: [1],
  ofWeight: (dGates, [h]) => matMul(h!, dGates, true),
};

export const GRU: Recurrence = {
  kernelName: 'AccGru',
  states: 1,
  stateOf: [0],
  run: (gates, weight, [h0], { activation, gateActivation }) =>
    gruForward(gates, weight, h0, activation, gateActivation) as Native[],
  runBackward: (dSequence, [dh], [gates, h], weight, { activation, gateActivation, hasBias }) =>
    gruBackward(dSequence, dh, gates, h, weight, activation, gateActivation, hasBias) as Native[],
  multiplied: [1, 2],
  /**
   * The weights of the gates multiply the state; those of the candidate multiply the state after
   * the reset gate.
   */
  ofWeight(dGates, [h, reset]) {
    const width = h!.shape[1]!;
    const ofGates = matMul(h!, slice(dGates, [0, 0], [-1, 2 * width]), true);
    return concat([ofGates, matMul(reset!, slice(dGates, [0, 2 * width], [-1, width]), true)], 1);
  },
};

/** The kernels of one kind of layer; {@link recurrent} describes inputs and results. */
export function recurrentKernels(recurrence: Recurrence): KernelConfig[] {
  return [
    kernel<readonly TensorInfo[], RecurrentAttrs>(recurrence.kernelName, ({ inputs, attrs, backend }) => {
      const natives = inputs.map((input) => backend.native(input));
      const isMixed = natives.some(({ dtype }) => dtype !== natives[0]!.dtype);
      return inDtype(isMixed ? 'float32' : natives[0]!.dtype, natives, (given) =>
        forward(recurrence, backend, given, attrs),
      );
    }),
    kernel<readonly TensorInfo[], RecurrentAttrs>(
      `${recurrence.kernelName}Grad`,
      ({ inputs, attrs, backend }) => {
        const [rows, ...kept] = backend.attached(inputs.at(-1)!) as [Native, Native, ...Native[]];
        const natives = inputs.slice(0, -1).map((input) => backend.native(input));
        const results = inDtype(rows.dtype, natives, (given) => backward(recurrence, given, kept, attrs));
        return [rows.alias(), ...results].map((native) => backend.wrap(native, 'float32'));
      },
    ),
  ];
}

function forward(
  recurrence: Recurrence,
  backend: AccBackend,
  [x, inputWeight, weight, ...others]: readonly Native[],
  attrs: RecurrentAttrs,
): TensorInfo[] {
  const bias = attrs.hasBias ? others[0]! : null;
  const before = attrs.hasStates ? others.slice(-recurrence.states) : [null, null];
  const [B, T] = x!.shape as [number, number];
  const rows = rowsByStep(x!);
  using gates_NG = product(rows, inputWeight!, bias, false, false, 'linear');
  const gates = reshape(gates_NG, [T, B, gates_NG.shape[1]!]);
  const created = recurrence.run(gates, weight!, before, attrs);
  const states = attrs.returnsStates ? recurrence.stateOf : attrs.returnsSequence ? [] : [0];
  const results = states.map((i) => backend.wrap(lastOf(created[i]!, T), 'float32'));
  if (attrs.returnsSequence) results.unshift(backend.wrap(sequenceOf(created[0]!, T), 'float32'));
  const kept = [rows, gates, ...created];
  if (isTaped()) backend.attach(results[0]!, kept);
  else for (const tensor of kept) tensor.dispose();
  return results;
}

/** Reshapes `[B, T, I]` to rows `[N, I]` in the order of steps. Caller disposes. */
function rowsByStep(x: Native): Native {
  const [B, T, I] = x.shape as [number, number, number];
  using byStep = permute(x, [1, 0, 2]);
  return reshape(byStep, [T * B, I]);
}

/** A view `[B, T, H]` of the states after each step. Caller disposes. */
function sequenceOf(states: Native, T: number): Native {
  using after = narrow(states, 0, 1, T);
  return permute(after, [1, 0, 2]);
}

/**
 * Copies the state after step T; a view would keep the states of all steps in memory. Caller
 * disposes.
 */
function lastOf(states: Native, T: number): Native {
  using view = select(states, 0, T);
  return clone(view);
}

/**
 * Returns the gradients of the gates, then the tensors that the recurrent weight multiplied, then
 * the gradients of the initial states if those were inputs, then that of the bias if there is one.
 */
function backward(
  recurrence: Recurrence,
  inputs: readonly Native[],
  kept: readonly Native[],
  attrs: RecurrentAttrs,
): Native[] {
  const dResults = inputs.slice(0, -1);
  const weight = inputs.at(-1)!;
  const [T, B, G] = kept[0]!.shape as [number, number, number];
  using dSequence = attrs.returnsSequence ? permute(dResults.shift()!, [1, 0, 2]) : null;
  const dStates = recurrence.stateOf.map((_, i) => dResults[i] ?? null);
  const [dGates, ...dBefore] = recurrence.runBackward(dSequence, dStates, kept, weight, attrs);
  using held = dGates!;
  const multiplied = recurrence.multiplied.map((i) => {
    using before = narrow(kept[i]!, 0, 0, T);
    return reshape(before, [T * B, before.shape[2]!]);
  });
  const dBias = dBefore.pop()!;
  if (!attrs.hasBias) dBias.dispose();
  if (!attrs.hasStates) for (const state of dBefore.splice(0)) state.dispose();
  return [reshape(held, [T * B, G]), ...multiplied, ...dBefore, ...(attrs.hasBias ? [dBias] : [])];
}

/** The gradient of {@link recurrentKernels}. Each weight's gradient is computed only on demand. */
export function recurrentGradient(recurrence: Recurrence): GradConfig {
  const { kernelName, multiplied, ofWeight } = recurrence;
  const gradFunc = (
    dy: Tensor | Tensor[],
    [inputWeight, weight, output]: readonly [Tensor, Tensor, Tensor],
    attrs: RecurrentAttrs,
  ): (() => Tensor)[] => {
    requireFirstOrder(kernelName);
    const grads = run(`${kernelName}Grad`, [dy, weight, output].flat(), attrs);
    const [rows_NI, dGates_NG] = grads as [Tensor, Tensor];
    const multiplied_NH = grads.slice(2, 2 + multiplied.length);
    const dStates = grads.slice(2 + multiplied.length);
    const dBias = attrs.hasBias ? [dStates.pop()!] : [];
    return [
      () => sequenceByBatch(matMul(dGates_NG, inputWeight, false, true), output.shape[0]!),
      () => matMul(rows_NI, dGates_NG, true),
      () => ofWeight(dGates_NG, multiplied_NH),
      ...dBias.map((grad) => () => grad),
      ...dStates.map((dState) => () => dState),
    ];
  };
  return {
    kernelName,
    inputsToSave: ['1', '2'],
    outputsToSave: [true],
    gradFunc: gradFunc as unknown as GradConfig['gradFunc'],
  };
}

/** Reshapes rows in the order of steps to `[B, T, I]`. */
function sequenceByBatch(rows_NI: Tensor, B: number): Tensor {
  const [N, I] = rows_NI.shape as [number, number];
  return transpose(reshapeTensor(rows_NI, [N / B, B, I]), [1, 0, 2]);
}

/**
 * Runs a layer. The results are the outputs of all steps with `returnsSequence`, then the last
 * states with `returnsStates`. With neither, the result is the last output, which is the first
 * state. Caller disposes the results.
 *
 * @param inputs x `[B, T, I]`, the input weight `[I, G]`, the recurrent weight `[H, G]`, the bias
 * `[G]` with `hasBias`, and with `hasStates` the states before the first step, `[B, H]` each.
 */
export function recurrent(
  recurrence: Recurrence,
  inputs: readonly Tensor[],
  attrs: RecurrentAttrs,
): Tensor[] {
  return run(recurrence.kernelName, inputs, attrs);
}

function run(kernelName: string, inputs: readonly Tensor[], attrs: RecurrentAttrs): Tensor[] {
  const named = inputs as unknown as NamedTensorMap;
  return engine().runKernel(kernelName, named, attrs as unknown as NamedAttrMap) as unknown as Tensor[];
}
