import type { Tensor } from '@tensorflow/tfjs-core';
import { invalidValue } from '../errors.js';
import { isTensor, requireRecord, show, valuesOf } from './values.js';

/** Numbers, or tensors with one element, by name. */
export type MetricValues = Readonly<Record<string, number | Tensor>>;

/**
 * Copies a record of numbers. Tensors are read, which waits for the device, and are not disposed.
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
    ? 'A history has one value for each epoch: log each value separately.'
    : typeof value === 'object'
      ? "Give each nested value its own name: 'train/loss'."
      : 'Use logText for text.';
  throw invalidValue('log', `'${key}' is ${show(value)}, expected a number`, help);
}
