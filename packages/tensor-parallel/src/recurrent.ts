import { tidy, type Tensor } from '@tensorflow/tfjs-core';
import { droppedInputs } from '@acc/kernels';
import {
  nestedLayers,
  patch,
  type LayerInternals,
  type RecurrentLayer,
  type Undo,
} from '@acc/tfjs-internals';
import type { LocalTensors } from './local-tensors.js';

/**
 * Makes recurrent layers whose weights are cut step through tfjs's loop over cells. Each rank
 * computes its units of every gate and keeps their carry. The ranks gather the output of each step,
 * which the next step multiplies by all rows of the recurrent weight. The fused kernel would run all
 * steps without an exchange; kernels leave a cell with a `call` of its own to tfjs.
 */
export function cutCells(layers: readonly unknown[], shards: LocalTensors): Undo {
  const undos = [...nestedLayers(layers)].filter(isRecurrent).flatMap((layer) => {
    const { cell } = layer;
    if (!shards.isCut(cell.recurrentKernel.read())) return [];
    return [
      patch(layer, 'call', 'recurrent layers', (call) => (inputs, kwargs) => {
        const [x] = [inputs].flat() as [Tensor];
        // One exchange in place of one for each step.
        if (shards.isSum(x)) shards.gatherFull(x);
        return tidy(() => {
          const dropped = droppedInputs(layer, x, kwargs ?? {});
          if (!dropped) return call.call(layer, inputs, kwargs);
          return withoutDropout(cell, () => call.call(layer, dropped, kwargs));
        });
      }),
      patch(cell, 'call', 'recurrent layers', (call) => (inputs, kwargs) => {
        const results = shards.inCell(() => call.call(cell, inputs, kwargs));
        const [output] = results as [Tensor];
        shards.gatherFull(output);
        return results;
      }),
    ];
  });
  return () => {
    for (const undo of undos) undo();
  };
}

type Cell = RecurrentLayer['cell'] & LayerInternals;

function isRecurrent(layer: object): layer is RecurrentLayer & { readonly cell: Cell } {
  const { cell } = layer as { readonly cell?: Partial<Cell> };
  return cell?.recurrentKernel !== undefined;
}

/** Runs a layer on inputs of which some were dropped. */
function withoutDropout<T>(cell: Cell, run: () => T): T {
  const { dropout } = cell;
  cell.dropout = 0;
  try {
    return run();
  } finally {
    cell.dropout = dropout;
  }
}
