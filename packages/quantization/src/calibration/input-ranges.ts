import { tensor1d, tidy, type Variable } from '@tensorflow/tfjs-core';
import { markFakeQuantized, requireAcc } from '@acc/kernels';
import { operator, type Tensor } from '@acc/native';
import { addWeightTo, besideTape, patch, type LayerVariable, type ModelInternals } from '@acc/tfjs-internals';
import type { InputRange, InputScale, ScaleAndZero } from '../formats/packed-matrix.js';
import { roundInput } from '../qat/fake-quantize.js';
import { frozenRange, inputScaleOf } from '../qat/input-range.js';
import type { QuantizableLayer } from '../quantizable-layers.js';
import type { Batches } from './batches.js';
import { noRangeYet } from './errors.js';
import type { Limits } from './histogram.js';
import { visitInputs } from './layer-inputs.js';
import { observerOf, type ObserverName } from './observers.js';

const clamp = operator('aten::clamp');
const divScalar = operator('aten::div.Scalar');
const div = operator('aten::div.Tensor');
const mul = operator('aten::mul.Tensor');
const neg = operator('aten::neg');
const round = operator('aten::round');
const select = operator('aten::select.int');
const sub = operator('aten::sub.Tensor');
const rsub = operator('aten::rsub.Scalar');

const [LOWEST, HIGHEST] = [-128, 127];
/** The least scale, as PyTorch has it. */
const LEAST_SCALE = 2 ** -23;

/** A layer, and the factors of the columns of its inputs. */
export interface ScaledLayer extends QuantizableLayer {
  readonly inputScale: InputScale | undefined;
}

/** Finds the range of each layer's inputs, after they are multiplied with its factors. */
export function observedRanges(
  model: ModelInternals,
  batches: Batches,
  layers: readonly ScaledLayer[],
  name: ObserverName,
): Map<object, Limits> {
  const observers = new Map(layers.map((each) => [each, observerOf(name)]));
  visitInputs(model, batches, layers, (layer, _, native) => {
    using seen = layer.inputScale ? mul(native, layer.inputScale.read()) : native.alias();
    observers.get(layer)!.see(seen);
  });
  return new Map([...observers].map(([{ layer }, observer]) => [layer, observer.range()]));
}

/**
 * Gives a layer the range of its inputs, as a weight `input_range` `[3]`: the least value with its sign turned,
 * the largest one, and a number that is 0 until the range is known. Convolutions round their inputs from now on.
 *
 * @param limits Undefined: they are loaded later.
 */
export function giveRange(layer: QuantizableLayer, limits: Limits | undefined): InputRange {
  const initializer = {
    apply: () =>
      tidy(() => (limits ? frozenRange(tensor1d([-limits[0], limits[1], 1])) : tensor1d([0, 0, 0]))),
  };
  const given = { shape: [3], initializer, trainable: false };
  const weight = addWeightTo(layer.holder, `${layer.path}/input_range`, given);
  markFakeQuantized(weight.read() as Variable);
  const known = { isKnown: limits !== undefined };
  const requireKnown = () => {
    known.isKnown ||= weight.read().dataSync()[2]! > 0;
    if (!known.isKnown) throw noRangeYet(layer.name);
  };
  if (!layer.isProduct) roundInputsOf(layer, weight, requireKnown);
  return {
    read() {
      requireKnown();
      return scaleAndZero(requireAcc().native(weight.read()));
    },
  };
}

/** See `inputScaleOf` of quantization-aware training. */
function scaleAndZero(range: Tensor): ScaleAndZero {
  using turned = select(range, 0, 0);
  using ownLeast = neg(turned);
  using least = clamp(ownLeast, null, 0);
  using ownLargest = select(range, 0, 1);
  using largest = clamp(ownLargest, 0, null);
  using width = sub(largest, least);
  using even = divScalar(width, HIGHEST - LOWEST);
  const scale = clamp(even, LEAST_SCALE, null);
  using steps = div(least, scale);
  using whole = round(steps);
  using number = rsub(whole, LOWEST);
  const zero = clamp(number, LOWEST, HIGHEST);
  return {
    scale,
    zero,
    [Symbol.dispose]() {
      scale.dispose();
      zero.dispose();
    },
  };
}

/** A convolution takes the rounded values in float32. */
function roundInputsOf({ layer }: QuantizableLayer, range: LayerVariable, requireKnown: () => void): void {
  const undoCall = patch(
    layer,
    'call',
    'fake quantization',
    (own) => (inputs, kwargs) =>
      tidy(() => {
        requireKnown();
        const x = Array.isArray(inputs) ? inputs[0]! : inputs;
        if (x.size === 0) return own.call(layer, inputs, kwargs);
        const rounded = roundInput(
          x,
          besideTape(() => inputScaleOf(range.read())),
        );
        return own.call(layer, rounded, kwargs);
      }),
  );
  const variable = range.read() as Variable;
  const undoDispose = patch(variable, 'dispose', 'fake quantization', (own) => () => {
    own.call(variable);
    undoCall();
    undoDispose();
  });
}
