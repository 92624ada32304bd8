import type { Tensor } from '@tensorflow/tfjs-core';
import {
  nestedLayers,
  patch,
  type LayerInternals,
  type RecurrentLayer,
  type Undo,
} from '@acc/tfjs-internals';
import type { Pieces } from './pieces.js';

/**
 * Makes recurrent layers whose weights are cut step through tfjs's loop over cells. Each rank
 * computes its units of every gate and keeps their carry. The ranks gather the output of each step,
 * which the next step multiplies by all rows of the recurrent weight. The fused kernel would run all
 * steps without an exchange; kernels leave a cell with a `call` of its own to tfjs.
 */
export function cutCells(layers: readonly unknown[], pieces: Pieces): Undo {
  const undos = [...nestedLayers(layers)].filter(isRecurrent).flatMap((layer) => {
    const { cell } = layer;
    if (!cell.built || !pieces.isCut(cell.recurrentKernel.read())) return [];
    return [
      patch(layer, 'call', (call) => (inputs, kwargs) => {
        // One exchange in place of one for each step.
        for (const x of [inputs].flat()) if (pieces.isSum(x)) pieces.makeWhole(x);
        return call.call(layer, inputs, kwargs);
      }),
      patch(cell, 'call', (call) => (inputs, kwargs) => {
        const results = pieces.inCell(() => call.call(cell, inputs, kwargs));
        const [output] = results as [Tensor];
        pieces.makeWhole(output);
        return results;
      }),
    ];
  });
  return () => {
    for (const undo of undos) undo();
  };
}

type Cell = RecurrentLayer['cell'] & LayerInternals & { readonly built: boolean };

function isRecurrent(layer: object): layer is RecurrentLayer & { readonly cell: Cell } {
  const { cell } = layer as { readonly cell?: Partial<Cell> };
  return cell?.recurrentKernel !== undefined;
}
