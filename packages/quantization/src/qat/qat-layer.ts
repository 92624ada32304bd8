import { cast, tidy, where, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { preparationOf, isPrepared } from '@acc/contract';
import { isComputingAgain, markFakeQuantized, unmarkFakeQuantized, type ChannelAxis } from '@acc/kernels';
import type { Tensor as NativeTensor } from '@acc/native';
import {
  addWeightTo,
  besideTape,
  freezeWeight,
  patch,
  removeWeightsFrom,
  type Kwargs,
  type LayerCall,
  type LayerVariable,
  type Undo,
} from '@acc/tfjs-internals';
import { noDataSeen, notFinite, stillPrepared } from '../errors.js';
import type { WeightSettings } from '../options.js';
import { pack, requireQuantizable } from '../pack.js';
import type { LayerWeight, QuantizableLayer } from '../quantizable-layers.js';
import { reportOf, type LayerReport } from '../report.js';
import {
  firstScales,
  roundByLearned,
  roundInput,
  roundRows,
  roundWeight,
  usableScales,
  type WeightRounding,
} from './fake-quantize.js';
import { groupViewOf, scalesOfMatrix } from './group-view.js';
import {
  emptyRange,
  frozenRange,
  inputScaleOf,
  isObserved,
  observed,
  type Observing,
} from './input-range.js';

/** How a layer is trained. */
export interface QatSettings {
  readonly settings: WeightSettings;
  readonly weights: 'int8' | 'int4';
  readonly activations: 'none' | 'dynamic' | 'static';
  readonly isLearned: boolean;
  readonly observing: Pick<Observing, 'observer' | 'freezeAfter'>;
}

interface QatWeight {
  readonly weight: LayerWeight;
  readonly axis: ChannelAxis;
  readonly rounding: WeightRounding;
  /** A weight of the layer. Undefined: the scales follow the values. */
  readonly scales: (LayerVariable & { dispose(): void }) | undefined;
  /** The rounded values, while the layer is being called. */
  rounded: Tensor | undefined;
  readonly undo: Undo;
}

const layers = new WeakMap<object, QatLayer>();

/** The preparation of a layer. Undefined if it has none, or was converted. */
export const qatLayerOf = (layer: object): QatLayer | undefined => layers.get(layer);

/** A layer whose call takes rounded weights and inputs. */
export class QatLayer {
  readonly name: string;
  readonly #layer: QuantizableLayer;
  readonly #settings: QatSettings;
  readonly #range: LayerVariable | undefined;
  /** Ends the call with rounded values. The disposal of the layer ends it, too. */
  readonly #undo: Undo;
  #weights: QatWeight[];

  constructor(chosen: QuantizableLayer, settings: QatSettings) {
    const { layer, path, weights } = chosen;
    this.name = chosen.name;
    this.#layer = chosen;
    this.#settings = settings;
    this.#weights = weights.map((each) => this.#prepared(each));
    if (settings.activations === 'static') {
      const given = { shape: [3], initializer: { apply: emptyRange }, trainable: false };
      this.#range = addWeightTo(chosen.holder, `${path}/input_range`, given);
      markFakeQuantized(this.#range.read() as Variable);
    }
    const undoCall = patch(
      layer,
      'call',
      'fake quantization',
      (own) => (inputs, kwargs) => this.#call(own, inputs, kwargs),
    );
    const variable = weights[0]!.weight.read();
    const undoDispose = patch(variable, 'dispose', 'fake quantization', (own) => () => {
      own.call(variable);
      this.#undo();
      for (const { undo } of this.#weights) undo();
    });
    this.#undo = () => {
      undoCall();
      undoDispose();
    };
    layers.set(layer, this);
  }

  get hasRange(): boolean {
    return this.#range !== undefined;
  }

  #prepared({ weight, axis }: QuantizableLayer['weights'][number]): QatWeight {
    const { settings, weights, isLearned } = this.#settings;
    const variable = weight.read();
    const rounding = { weights, view: groupViewOf(variable.shape, axis, settings.granularity) };
    const scales = isLearned
      ? addWeightTo(this.#layer.holder, `${weight.originalName}_scale`, {
          shape: rounding.view.scales,
          initializer: { apply: () => tidy(() => firstScales(variable, rounding)) },
        })
      : undefined;
    if (scales) markFakeQuantized(scales.read() as Variable);
    const undo = patch(
      weight,
      'read',
      'fake quantization',
      (own) => () => (each.rounded as Variable | undefined) ?? own.call(weight),
    );
    const each: QatWeight = {
      weight,
      axis,
      rounding,
      scales: scales as QatWeight['scales'],
      rounded: undefined,
      undo,
    };
    markFakeQuantized(variable);
    return each;
  }

  #call(own: LayerCall, inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor | Tensor[] {
    return tidy(() => {
      const given = Array.isArray(inputs)
        ? inputs.map((x, i) => (i === 0 ? this.#input(x, kwargs) : x))
        : this.#input(inputs, kwargs);
      const values = this.#weights.map(({ weight, scales, rounding }) =>
        scales
          ? roundByLearned(weight.read(), scales.read(), rounding)
          : roundWeight(weight.read(), rounding),
      );
      this.#weights.forEach((each, i) => (each.rounded = values[i]));
      try {
        return own.call(this.#layer.layer, given, kwargs);
      } finally {
        for (const each of this.#weights) each.rounded = undefined;
      }
    });
  }

  #input(given: Tensor, kwargs: Kwargs | undefined): Tensor {
    const { activations } = this.#settings;
    if (activations === 'none') return given;
    const x = given.dtype === 'float32' ? given : cast(given, 'float32');
    // A converted layer leaves the rows to its product.
    if (activations === 'dynamic') return x.size === 0 ? x : roundRows(x);
    const isTraining = Boolean(kwargs?.training);
    // Activations that are computed again have been observed before. The range of a converted layer stays.
    const isObserving = isTraining && !isComputingAgain() && this.#weights.length > 0;
    if (isObserving) besideTape(() => this.#observe(x));
    if (x.size === 0) return x;
    const range = this.#range!.read();
    const rounded = roundInput(
      x,
      besideTape(() => inputScaleOf(range)),
    );
    return isTraining
      ? rounded
      : where(
          besideTape(() => isObserved(range)),
          rounded,
          x,
        );
  }

  #observe(x: Tensor): void {
    const range = this.#range!;
    const largest = (limits: Tensor) => {
      const preparation = preparationOf(this.#layer.layer);
      const name = `${this.#layer.path}/input_range`;
      return (preparation?.isOver === false && preparation.largest?.(limits, name)) || limits;
    };
    tidy(() => void range.write(observed(range.read(), x, { ...this.#settings.observing, largest })));
  }

  /** @throws AccError `ACC_QAT_NO_DATA`. */
  requireData(caller: string): void {
    if (!this.#range) return;
    const [least, largest, passes] = this.#range.read().dataSync() as unknown as [number, number, number];
    if (passes === 0) throw noDataSeen(caller, this.name);
    if (!Number.isFinite(least + largest)) throw notFinite(`${this.#layer.path}/input_range`);
  }

  /** Lets the range stay as it is. */
  freeze(): void {
    const range = this.#range;
    if (range) tidy(() => void range.write(frozenRange(range.read())));
  }

  /** @throws AccError `ACC_QUANTIZE_TOO_LATE`, `ACC_QUANTIZE_VALUES`, `ACC_QAT_NO_DATA`. */
  requireConvertible(): void {
    for (const { weight, axis } of this.#weights) {
      const variable = weight.read();
      if (isPrepared(variable)) throw stillPrepared(variable.name);
      requireQuantizable(variable, this.#settings.settings, axis);
    }
    this.requireData('convertQat');
  }

  /** Packs the weights. Inputs of `static` are rounded as before. @param model It has the layer. */
  convert(model: object): LayerReport {
    const { settings, activations } = this.#settings;
    layers.delete(this.#layer.layer);
    const weights = this.#weights;
    this.#weights = [];
    for (const { undo } of weights) undo();
    this.freeze();
    if (activations !== 'static') this.#undo();
    const start = performance.now();
    const facts = weights.map((each) => converted(each, settings));
    const milliseconds = performance.now() - start;
    const learned = weights.flatMap(({ scales }) => scales ?? []);
    removeWeightsFrom(this.#layer.holder, learned, model);
    for (const scales of learned) scales.dispose();
    return { layer: this.name, method: 'qat', milliseconds, ...reportOf(facts) };
  }
}

function converted({ weight, axis, rounding, scales }: QatWeight, settings: WeightSettings) {
  const variable = weight.read();
  unmarkFakeQuantized(variable);
  using given = scales && learnedScales(scales.read(), rounding);
  const facts = pack(variable, settings, axis, { scales: given, exact: true });
  freezeWeight(weight);
  return facts;
}

function learnedScales(scales: Tensor, { weights, view }: WeightRounding): NativeTensor {
  const usable = tidy(() => usableScales(scales, weights));
  try {
    return scalesOfMatrix(usable, view);
  } finally {
    usable.dispose();
  }
}
