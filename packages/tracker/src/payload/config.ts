import type { RunConfig } from '@acc/contract';
import { invalidValue } from '../errors.js';
import { isRecord, isTensor, requireRecord, show } from './values.js';

/**
 * Copies a config.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` with the key of a value that cannot be stored.
 */
export function takeConfig(config: RunConfig): RunConfig {
  requireRecord('initTrackers', config, "initTrackers('mnist', { lr: 1e-3 })");
  return copyOf(config, '', []) as RunConfig;
}

/** @param around The objects and arrays that contain the value. */
function copyOf(value: unknown, key: string, around: readonly unknown[]): unknown {
  if (around.includes(value)) throw refuse(key, 'contains itself');
  const within = [...around, value];
  if (Array.isArray(value)) return value.map((item, i) => copyOf(item, `${key}[${i}]`, within));
  if (isRecord(value)) {
    const inner = (name: string) => (key === '' ? name : `${key}.${name}`);
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([name, item]) => [name, copyOf(item, inner(name), within)]));
  }
  if (typeof value === 'bigint' || isTensor(value)) throw refuse(key, `is ${show(value)}`);
  try {
    return structuredClone(value);
  } catch {
    throw refuse(key, `is ${show(value)}`);
  }
}

const refuse = (key: string, problem: string) =>
  invalidValue(
    'initTrackers',
    `the config's '${key}' ${problem}`,
    'Use strings, numbers, booleans, null, and arrays and records of these.',
  );
