import { tidy, type Tensor } from '@tensorflow/tfjs-core';
import { requireAcc } from '@acc/kernels';
import type { Tensor as NativeTensor } from '@acc/native';
import { besideTape, patch, type ModelInternals, type Undo } from '@acc/tfjs-internals';
import { allFinite } from '../formats/finite.js';
import type { QuantizableLayer } from '../quantizable-layers.js';
import type { Batches } from './batches.js';
import { notCalled, notFiniteInputs } from './errors.js';

/** Gets the input of a call of a layer: float32, borrowed. */
export type Visit<L> = (layer: L, x: Tensor, native: NativeTensor) => void;

/**
 * Predicts all batches, and gives `visit` the inputs with which the layers multiply.
 *
 * @throws AccError `ACC_CALIBRATION_DATA` for a layer that got none, or NaN and infinities.
 */
export function visitInputs<L extends QuantizableLayer>(
  model: ModelInternals,
  { list }: Batches,
  layers: readonly L[],
  visit: Visit<L>,
): void {
  const seen = new Set<L>();
  const undos: Undo[] = layers.map((each) =>
    patch(each.layer, 'call', 'layer hooks', (own) => (inputs, kwargs) => {
      const x = Array.isArray(inputs) ? inputs[0]! : inputs;
      if (isFactor(each, x)) {
        seen.add(each);
        besideTape(() => visitFinite(each, x, visit));
      }
      return own.call(each.layer, inputs, kwargs);
    }),
  );
  try {
    for (const tensors of list)
      tidy(() => void model.predictOnBatch(tensors.length === 1 ? tensors[0] : tensors));
  } finally {
    for (const undo of undos) undo();
  }
  const missing = layers.filter((each) => !seen.has(each)).map(({ name }) => name);
  if (missing.length > 0) throw notCalled(missing);
}

/** A table is looked up with numbers of rows, and multiplied with by tied output layers. */
const isFactor = ({ className }: QuantizableLayer, x: Tensor): boolean =>
  className === 'TokenEmbedding' ? x.rank === 3 : className !== 'Embedding';

function visitFinite<L extends QuantizableLayer>(layer: L, x: Tensor, visit: Visit<L>): void {
  const native = requireAcc().native(x);
  if (!allFinite(native)) throw notFiniteInputs(layer.name);
  visit(layer, x, native);
}
