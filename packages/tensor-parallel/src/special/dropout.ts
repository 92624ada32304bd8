import type { TensorInfo } from '@tensorflow/tfjs-core';
import { repetitionsOf } from '@acc/contract';
import type { DropoutPlace } from '@acc/kernels';
import type { Special } from './context.js';

/**
 * Dropout of this rank's piece. Every rank draws for the whole tensor, so that the pieces get the mask
 * of one process, and the ranks' generators stay equal.
 */
export const dropout: Special = {
  ofCut({ pieces, kernels }, { inputs, attrs }) {
    const { x } = inputs as { x: TensorInfo };
    const state = pieces.stateOf(x);
    if (state?.kind !== 'rows') return undefined;
    const { count, index } = pieces.line;
    const within: DropoutPlace = { outer: repetitionsOf(x.shape, state.at), count, index };
    const own = kernels.run('AccDropout', { x: pieces.pieceOf(x) }, { ...attrs, within });
    return pieces.hold(own, state, pieces.gathers(x));
  },
};
