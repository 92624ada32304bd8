import type { Tensor } from '@tensorflow/tfjs-core';
import { invalidValue } from '../errors.js';
import { isTensor, requireRecord, show, valuesOf } from './values.js';

/** Numbers, or tensors of one element, by name. */
export type MetricValues = Readonly<Record<string, number | Tensor>>;

/**
 * A record of numbers of its own. Tensors are read, which waits for the device; they stay the caller's.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`.
 */
export function takeMetrics(values: MetricValues): Record<string, number> {
  requireRecord('log', values, 'log({ loss: 0.3 })');
  const metrics: Record<string, number> = {};
  for (const key of Object.keys(values)) metrics[key] = numberOf(key, values[key]);
  return metrics;
}

function numberOf(key: string, value: unknown): number {
  if (typeof value === 'number') return value;
  if (isTensor(value) && value.size === 1) return valuesOf('log', key, value)[0]!;
  const help = Array.isArray(value)
    ? 'A history has one value an epoch: log each by itself.'
    : typeof value === 'object'
      ? "Give nested values names of their own: 'train/loss'."
      : 'Use logText for text.';
  throw invalidValue('log', `'${key}' is ${show(value)}, expected a number`, help);
}
