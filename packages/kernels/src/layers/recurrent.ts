import { dispose, mul, ones, reverse, type Tensor } from '@tensorflow/tfjs-core';
import { dropout } from '../functions/dropout.js';
import type { AccLayerCall } from './acc-layer-call.js';
import {
  isTfjsClass,
  tfjsClassName,
  type Kwargs,
  type RecurrentCell,
  type RecurrentLayer,
} from '@acc/tfjs-internals';
import {
  GRU,
  LSTM,
  recurrent,
  RECURRENT_ACTIVATIONS,
  type Recurrence,
  type RecurrentAttrs,
} from './recurrent-kernels.js';

/** By the class of the layer. */
const RECURRENCES: Readonly<Record<string, Recurrence>> = { LSTM, GRU };

export const callRecurrent: AccLayerCall<RecurrentLayer> = (layer, x, kwargs) => {
  const { cell } = layer;
  const recurrence = recurrenceOf(layer, x, kwargs);
  if (!recurrence || Object.hasOwn(cell, 'call')) return undefined;

  forgetDropout(cell);
  const states = statesOf(layer, kwargs);
  const weights = [cell.kernel, cell.recurrentKernel, ...(cell.bias ? [cell.bias] : [])];
  const steps = layer.goBackwards ? reverse(x, 1) : x;
  const attrs: RecurrentAttrs = {
    activation: cell.activation.getClassName(),
    gateActivation: cell.recurrentActivation.getClassName(),
    hasBias: cell.bias !== null,
    hasStates: states.length > 0,
    returnsSequence: layer.returnSequences,
    returnsStates: layer.returnState || Boolean(layer.stateful),
  };
  const results = recurrent(
    recurrence,
    [
      kwargs.training ? dropInputs(steps, cell.dropout) : steps,
      ...weights.map((weight) => weight.read()),
      ...states,
    ],
    attrs,
  );
  const output = results[0]!;
  const after = layer.returnSequences ? results.slice(1) : results;
  if (layer.stateful) layer.resetStates(after, kwargs.training);
  return layer.returnState ? [output, ...after] : output;
};

/**
 * The inputs of a layer whose cell has a `call` of its own, dropped with the mask that the layer has
 * without it. Undefined if the cell draws the masks in both cases.
 */
export function droppedInputs(layer: RecurrentLayer, x: Tensor, kwargs: Kwargs): Tensor | undefined {
  return kwargs.training && recurrenceOf(layer, x, kwargs) ? dropInputs(x, layer.cell.dropout) : undefined;
}

/**
 * The function that computes all steps of a layer, unless its cell has a `call` of its own.
 * Undefined: tfjs's loop over cells handles masks, recurrent dropout, and activations outside
 * RECURRENT_ACTIVATIONS.
 */
function recurrenceOf(layer: RecurrentLayer, x: Tensor, kwargs: Kwargs): Recurrence | undefined {
  const { cell } = layer;
  const name = tfjsClassName(layer);
  const recurrence = RECURRENCES[name ?? ''];
  if (!recurrence || !isTfjsClass(cell, `${name}Cell`) || kwargs.mask != null || x.rank !== 3)
    return undefined;
  const { length } = statesOf(layer, kwargs);
  const areStates = length === 0 || length === recurrence.states;
  return areStates && hasFusedForm(cell, kwargs.training ?? false) ? recurrence : undefined;
}

function statesOf({ stateful, states_ }: RecurrentLayer, { initialState }: Kwargs): readonly Tensor[] {
  return initialState ?? (stateful ? states_ : null) ?? [];
}

function hasFusedForm(cell: RecurrentCell, training: boolean): boolean {
  const activations = [cell.activation, cell.recurrentActivation].map((activation) =>
    activation.getClassName(),
  );
  if (!activations.every((name) => RECURRENT_ACTIVATIONS.includes(name))) return false;
  if (!training) return true;
  return cell.recurrentDropout === 0 && cell.dropout < 1 && cell.dropoutFunc == null;
}

/** Drops inputs with one mask for all steps of a sequence, as tfjs does. */
function dropInputs(x: Tensor, rate: number): Tensor {
  if (rate === 0) return x;
  const [batch, , width] = x.shape as [number, number, number];
  return mul(x, dropout(ones([batch, 1, width]), rate));
}

/** Disposes the dropout masks of the last call: tfjs keeps them until the next call. */
function forgetDropout(cell: RecurrentCell): void {
  dispose([cell.dropoutMask ?? [], cell.recurrentDropoutMask ?? []]);
  cell.dropoutMask = null;
  cell.recurrentDropoutMask = null;
}
