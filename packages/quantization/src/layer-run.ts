import type { ModelInternals } from '@acc/tfjs-internals';
import { requireAcc } from '@acc/kernels';
import type { PlannedLayer } from './budget.js';
import type { Batches } from './calibration/batches.js';
import { giveRange, observedRanges, type ScaledLayer } from './calibration/input-ranges.js';
import type { InputRange, InputScale } from './formats/packed-matrix.js';
import { statisticsOf } from './layer-statistics.js';
import type { Given } from './plan.js';
import type { QuantizableLayer } from './quantizable-layers.js';
import { giveScale } from './scaling/input-scale.js';
import { smoothingScale } from './scaling/smooth-quant.js';
import { asMatrix } from './storage.js';

/** A call of `quantize`. */
export interface Run {
  readonly model: ModelInternals;
  readonly given: Given;
  /** Undefined without calibration, and where its results are loaded later. */
  readonly batches: Batches | undefined;
}

/** A layer, and what becomes of its inputs. */
export interface RunLayer extends PlannedLayer, ScaledLayer {
  readonly range: InputRange | undefined;
  /** The numbers of `inputScale`, where they are known before the layer is packed. */
  readonly factors: Float32Array | undefined;
}

/** Finds what becomes of the inputs of each layer, from the model with float32 weights. */
export function withInputs(run: Run, planned: readonly PlannedLayer[]): RunLayer[] {
  const { model, given, batches } = run;
  const scaled = withScales(run, planned);
  if (given.activations !== 'static') return scaled.map((each) => ({ ...each, range: undefined }));
  const limits = batches && observedRanges(model, batches, scaled, given.observer ?? 'histogram');
  return scaled.map((each) => ({ ...each, range: giveRange(each, limits?.get(each.layer)) }));
}

type ScaledPlan = Omit<RunLayer, 'range'>;

function withScales({ model, given, batches }: Run, planned: readonly PlannedLayer[]): ScaledPlan[] {
  const { algorithm, smoothQuant = { alpha: 0.5 } } = given;
  const isStored = !batches && (algorithm === 'awq' || algorithm === 'smoothQuant');
  if (isStored) return planned.map((each) => withFactors(each, undefined));
  if (algorithm !== 'smoothQuant') {
    return planned.map((each) => ({ ...each, inputScale: undefined, factors: undefined }));
  }
  using found = statisticsOf(model, batches!, planned, { hasHessian: false, hasChannels: true });
  return planned.map((each) => {
    const { weight, axis } = each.weights[0]!;
    using matrix = asMatrix(requireAcc().native(weight.read()), axis);
    return withFactors(each, smoothingScale(matrix, found.of(each).channels!, smoothQuant.alpha));
  });
}

/** @param factors Undefined: they are loaded later. */
export function withFactors<L extends QuantizableLayer>(
  layer: L,
  factors: Float32Array | undefined,
): L & { readonly inputScale: InputScale; readonly factors: Float32Array | undefined } {
  const { weight, axis } = layer.weights[0]!;
  const { shape, size } = weight.read();
  const columns = size / (axis === 'first' ? shape[0]! : shape.at(-1)!);
  return { ...layer, inputScale: giveScale(layer, columns, factors), factors };
}
