import { Variable, type Tensor } from '@tensorflow/tfjs-core';
import { isPrepared, type KernelLayer } from '@acc/contract';
import { nestedLayers, patch, type LayerCall, type Undo } from '@acc/tfjs-internals';
import { SEQUENCE, type Pieces } from './pieces.js';
import { tooLate } from './too-late.js';

const marked = new WeakSet<object>();

/**
 * States that a layer computes on this rank's piece of the sequence.
 *
 * @throws AccError `ACC_TENSOR_PARALLEL_PLAN` for a prepared layer.
 */
export function markSequence(layer: { readonly name: string }): void {
  if (isPrepared(layer) && !marked.has(layer)) throw tooLate('parallelize', layer.name);
  marked.add(layer);
}

export const isSequence = (layer: object): boolean => marked.has(layer);

/** Takes the mark back. */
export function unmarkSequence(layer: object): void {
  marked.delete(layer);
}

/**
 * Makes marked layers leave this rank's piece of the sequence of their input: a partial sum is
 * added up and divided in one exchange (Korthikanti et al., "Reducing Activation Recomputation in
 * Large Transformer Models", 2022, section 4.2.2). What follows works on the piece, until a product
 * by columns gathers it.
 */
export function cutInputs(
  layers: readonly unknown[],
  pieces: Pieces,
  { fuseLayers }: Pick<KernelLayer, 'fuseLayers'>,
): Undo {
  const all = [...nestedLayers(layers)];
  const along = all.filter((layer) => marked.has(layer));
  // Backends leave a layer to tfjs that already has a call of its own.
  const undos = [fuseLayers(along)];
  for (const layer of along) {
    undos.push(
      patch(layer as { call: LayerCall }, 'call', 'sequence pieces', (call) => (inputs, kwargs) => {
        const [x] = [inputs].flat() as [Tensor];
        cutAlongSequence(x, pieces);
        return pieces.alongSequence(() => call.call(layer as never, inputs, kwargs));
      }),
    );
  }
  return () => {
    for (const undo of undos) undo();
  };
}

function cutAlongSequence(x: Tensor, pieces: Pieces): void {
  const state = pieces.stateOf(x);
  if (x instanceof Variable || !state || state.kind === 'rows') return;
  if (pieces.fitsSequence(x)) pieces.makeRows(x, SEQUENCE, true);
}
