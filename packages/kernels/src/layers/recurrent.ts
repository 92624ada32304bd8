import { dispose, mul, ones, reverse, type Tensor } from '@tensorflow/tfjs-core';
import { dropout } from '../functions/dropout.js';
import type { AccLayerCall } from './acc-layer-call.js';
import { isOwnClass, type RecurrentCell, type RecurrentLayer } from '@acc/tfjs-internals';
import {
  GRU,
  LSTM,
  recurrent,
  RECURRENT_ACTIVATIONS,
  type Recurrence,
  type RecurrentAttrs,
} from './recurrent-kernels.js';

export const callLstm: AccLayerCall<RecurrentLayer> = (layer, x, kwargs) =>
  isOwnClass(layer.cell, 'LSTMCell') ? call(LSTM, layer, x, kwargs) : undefined;

export const callGru: AccLayerCall<RecurrentLayer> = (layer, x, kwargs) =>
  isOwnClass(layer.cell, 'GRUCell') ? call(GRU, layer, x, kwargs) : undefined;

/**
 * tfjs's loop over cells handles masks, recurrent dropout, and activations outside
 * RECURRENT_ACTIVATIONS.
 */
function call(
  recurrence: Recurrence,
  layer: RecurrentLayer,
  x: Tensor,
  { training, mask, initialState }: Parameters<AccLayerCall<RecurrentLayer>>[2],
): Tensor | Tensor[] | undefined {
  const { cell } = layer;
  const states = initialState ?? (layer.stateful ? layer.states_ : null) ?? [];
  const isPlain = mask == null && x.rank === 3 && hasFusedCell(cell, training ?? false);
  if (!isPlain || (states.length > 0 && states.length !== recurrence.states)) return undefined;

  forgetDropout(cell);
  const weights = [cell.kernel, cell.recurrentKernel, ...(cell.bias ? [cell.bias] : [])];
  const isDropping = training && cell.dropout > 0;
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
      isDropping ? dropInputs(steps, cell.dropout) : steps,
      ...weights.map((weight) => weight.read()),
      ...states,
    ],
    attrs,
  );
  const output = results[0]!;
  const after = layer.returnSequences ? results.slice(1) : results;
  if (layer.stateful) layer.resetStates(after, training);
  return layer.returnState ? [output, ...after] : output;
}

function hasFusedCell(cell: RecurrentCell, training: boolean): boolean {
  const activations = [cell.activation, cell.recurrentActivation].map((activation) =>
    activation.getClassName(),
  );
  if (Object.hasOwn(cell, 'call') || !activations.every((name) => RECURRENT_ACTIVATIONS.includes(name))) {
    return false;
  }
  if (!training) return true;
  return cell.recurrentDropout === 0 && cell.dropout < 1 && cell.dropoutFunc == null;
}

/** Drops inputs with one mask for all steps of a sequence, as tfjs does. */
function dropInputs(x: Tensor, rate: number): Tensor {
  const [batch, , width] = x.shape as [number, number, number];
  return mul(x, dropout(ones([batch, 1, width]), rate));
}

/** Disposes the dropout masks of the last call: tfjs keeps them until the next call. */
function forgetDropout(cell: RecurrentCell): void {
  dispose([cell.dropoutMask ?? [], cell.recurrentDropoutMask ?? []]);
  cell.dropoutMask = null;
  cell.recurrentDropoutMask = null;
}
