import { tensor1d, type Variable } from '@tensorflow/tfjs-core';
import { markFakeQuantized, requireAcc } from '@acc/kernels';
import { addWeightTo } from '@acc/tfjs-internals';
import { noRangeYet } from '../calibration/errors.js';
import type { InputScale } from '../formats/packed-matrix.js';
import type { QuantizableLayer } from '../quantizable-layers.js';

/** The value of a factor that is loaded later. */
const UNKNOWN = -1;

/**
 * Gives a layer the factors of the columns of its inputs, as a weight `input_scale` `[columns]`.
 *
 * @param factors Undefined: they are loaded later.
 */
export function giveScale(
  layer: QuantizableLayer,
  columns: number,
  factors: Float32Array | undefined,
): InputScale {
  const values = factors ?? new Float32Array(columns).fill(UNKNOWN);
  const initializer = { apply: () => tensor1d(values) };
  const given = { shape: [columns], initializer, trainable: false };
  const weight = addWeightTo(layer.holder, `${layer.path}/input_scale`, given);
  markFakeQuantized(weight.read() as Variable);
  const known = { isKnown: factors !== undefined };
  return {
    read() {
      known.isKnown ||= weight.read().dataSync()[0]! > 0;
      if (!known.isKnown) throw noRangeYet(layer.name);
      return requireAcc().native(weight.read());
    },
  };
}
