import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { ShardLayout } from '@acc/contract';
import type { LocalTensors } from './local-tensors.js';

/** The inputs of a kernel, by name or by number. Some may be missing. */
export type CallInputs = Readonly<Record<string, TensorInfo | null | undefined>>;
export type CallAttrs = Readonly<Record<string, unknown>>;

/** How tensors are held. */
export type Layouts = Pick<LocalTensors, 'layoutOf'>;

/** All that the plan of a kernel's call depends on. */
export interface Signature {
  readonly inputs: readonly {
    readonly name: string;
    readonly shape: readonly number[];
    readonly layout: ShardLayout | undefined;
  }[];
  readonly attrs: CallAttrs;
}

/** The signature of a call. Undefined if it has attributes that cannot be compared. */
export function signatureOf(inputs: CallInputs, attrs: CallAttrs, shards: Layouts): Signature | undefined {
  if (!Object.values(attrs).every(isComparable)) return undefined;
  const local: Signature['inputs'][number][] = [];
  for (const name in inputs) {
    const x = inputs[name];
    if (x) local.push({ name, shape: x.shape.slice(), layout: shards.layoutOf(x) });
  }
  return { inputs: local, attrs: structuredClone(attrs) };
}

/** A number that calls of one signature share, and calls of others seldom have. */
export function hashOf(inputs: CallInputs, attrs: CallAttrs): number {
  let hash = 0;
  for (const name in inputs) {
    const x = inputs[name];
    if (x) hash = mixedList(mixed(hash, x.shape.length), x.shape);
  }
  for (const name in attrs) hash = mixedValue(hash, attrs[name]);
  return hash;
}

/** Whether a call has this signature. Equal layouts are one object; see {@link LocalTensors.layoutAt}. */
export function hasSignature(
  signature: Signature,
  inputs: CallInputs,
  attrs: CallAttrs,
  shards: Layouts,
): boolean {
  const known = signature.inputs;
  let count = 0;
  for (const name in inputs) {
    const x = inputs[name];
    if (!x) continue;
    const local = known[count++];
    if (local?.name !== name || local.layout !== shards.layoutOf(x) || !isSame(local.shape, x.shape))
      return false;
  }
  return count === known.length && hasSame(signature.attrs, attrs) && hasSame(attrs, signature.attrs);
}

/** Whether all attributes of `some` are the same in `others`. */
function hasSame(some: CallAttrs, others: CallAttrs): boolean {
  for (const name in some) if (!isSame(some[name], others[name])) return false;
  return true;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!isSame(a[i], b[i])) return false;
  return true;
}

function isComparable(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isComparable);
  if (typeof value === 'object' || typeof value === 'function') return value === null;
  return !Number.isNaN(value);
}

const mixed = (hash: number, value: number): number => (Math.imul(hash, 31) + value) | 0;

function mixedList(hash: number, list: readonly unknown[]): number {
  let all = hash;
  for (let i = 0; i < list.length; i++) all = mixedValue(all, list[i]);
  return all;
}

function mixedValue(hash: number, value: unknown): number {
  if (typeof value === 'number') return mixed(hash, value);
  if (typeof value === 'boolean') return mixed(hash, Number(value));
  return Array.isArray(value) ? mixedList(hash, value) : hash;
}
