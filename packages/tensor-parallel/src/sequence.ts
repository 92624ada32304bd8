import { Variable, type Tensor } from '@tensorflow/tfjs-core';
import { isPrepared, type KernelLayer } from '@acc/contract';
import { nestedLayers, patch, type LayerCall, type Undo } from '@acc/tfjs-internals';
import { SEQUENCE, type LocalTensors } from './local-tensors.js';
import { tooLate } from './too-late.js';

const marked = new WeakSet<object>();

/**
 * States that a layer computes on this rank's shard of the sequence.
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
 * Makes marked layers leave this rank's shard of the sequence of their input: a partial sum is
 * added up and divided in one exchange (Korthikanti et al., "Reducing Activation Recomputation in
 * Large Transformer Models", 2022, section 4.2.2). What follows works on the shard, until a product
 * by columns gathers it.
 */
export function cutInputs(
  layers: readonly unknown[],
  shards: LocalTensors,
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
        cutAlongSequence(x, shards);
        return shards.alongSequence(() => call.call(layer as never, inputs, kwargs));
      }),
    );
  }
  return () => {
    for (const undo of undos) undo();
  };
}

function cutAlongSequence(x: Tensor, shards: LocalTensors): void {
  const state = shards.stateOf(x);
  if (x instanceof Variable || !state || state.kind === 'rows') return;
  if (shards.fitsSequence(x)) shards.makeRows(x, SEQUENCE, true);
}
