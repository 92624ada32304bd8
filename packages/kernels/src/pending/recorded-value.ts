import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import {
  bindToShadow,
  operator,
  shadowOf,
  tensorFrom,
  unrecorded,
  type Tensor as NativeTensor,
} from '@acc/native';
import type { AccBackend } from '../backend.js';
import { toDtype } from '../families/conversion.js';
import { TensorData } from '../tensor-data.js';
import type { NativeTensors, RecordedResult } from './recorded-result.js';

// Results also wait while a step is recorded, so that it needs as much memory as the plain step. The
// recording has the calls that compute each result alone, at the place where the step made it.

const expand = operator('aten::expand');

type Shadow = ReturnType<typeof shadowOf>;

/** The number of the recording in progress; 0 for none. */
let recording = 0;
let recordings = 0;
let isOn = false;

/** From now on calls are recorded, or not. */
export function recordValues(on: boolean): void {
  isOn = on;
}

/** A recording begins; call it with {@link recordValues}. */
export function beginRecordedValues(): void {
  recording = ++recordings;
}

/** The values that still wait are no longer those of a recording. */
export function endRecordedValues(): void {
  recording = 0;
  isOn = false;
}

/** Whether results must have a {@link RecordedValue}. */
export const areValuesRecorded = (): boolean => isOn;

export class RecordedValue implements RecordedResult {
  readonly #recording = recording;
  readonly #data: TensorData;

  /** @param shadow It takes it over. */
  constructor(private readonly shadow: NativeTensor) {
    this.#data = shadowData(shadow);
  }

  get isCurrent(): boolean {
    return this.#recording === recording;
  }

  standsFor({ shape, dtype }: TensorInfo): TensorInfo {
    return { dataId: this.#data, shape, dtype };
  }

  compute(action: () => NativeTensor): NativeTensor {
    if (!this.isCurrent) return action();
    const native = unrecorded(action);
    this.bind(native);
    return native;
  }

  bind(native: NativeTensor): void {
    if (this.isCurrent) bindToShadow(native, this.shadow);
  }

  computeAs(
    backend: NativeTensors,
    info: TensorInfo,
    dtype: NativeDtype,
    action: () => NativeTensor,
  ): NativeTensor {
    using zeros = zerosFor(shadowOf(backend.native(this.standsFor(info))));
    using converted = toDtype(zeros, dtype);
    const native = unrecorded(action);
    bindToShadow(native, converted);
    return native;
  }

  dispose(): void {
    this.#data.dispose();
  }
}

/** An input of an operator that waits: the value itself if it waits, too. */
export interface RecordedInput {
  readonly info: TensorInfo;
  readonly value: RecordedResult | undefined;
}

/**
 * Records the calls of an operator, without the values of its inputs.
 *
 * @param alone Computes the operator. It gets inputs of the same shapes and dtypes.
 * @param needsMemory See `ElementwiseOperator`.
 */
export function recordedValue(
  backend: AccBackend,
  inputs: readonly RecordedInput[],
  alone: (inputs: readonly TensorInfo[]) => TensorInfo,
  needsMemory = false,
): RecordedValue {
  const created: TensorData[] = [];
  try {
    const infos = inputs.map(({ info, value }) => {
      if (value && !needsMemory) return value.standsFor(info);
      const shadow = shadowOf(backend.native(value?.standsFor(info) ?? info));
      const data = shadowData(needsMemory ? zerosFor(shadow) : shadow);
      created.push(data);
      return { ...info, dataId: data };
    });
    const result = alone(infos);
    const value = new RecordedValue(shadowOf(backend.native(result)));
    backend.disposeInfo(result);
    return value;
  } finally {
    for (const data of created) data.dispose();
  }
}

/** One zero, repeated, that the recording takes for the value of `shadow`, which it disposes. */
function zerosFor(shadow: Shadow): NativeTensor {
  using held = shadow;
  const zeros = unrecorded(() => {
    using zero = tensorFrom(new Float32Array(1), 'float32', []);
    using converted = toDtype(zero, held.dtype);
    return expand(converted, held.shape);
  });
  bindToShadow(zeros, held);
  return zeros;
}

const shadowData = (shadow: NativeTensor): TensorData =>
  new TensorData('float32', shadow, undefined, undefined);
