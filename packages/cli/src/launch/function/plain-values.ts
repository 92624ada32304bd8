import { types } from 'node:util';
import { AccError } from '@acc/contract';

/**
 * Checks that a value arrives in another process as it is. An object of a class, for example a
 * tensor, would lose its class.
 *
 * @param what What the value is, for messages: `argument 0`.
 * @throws AccError `ACC_NOT_PLAIN`.
 */
export function requirePlain(value: unknown, what: string, seen = new Set<unknown>()): void {
  if (typeof value === 'function' || typeof value === 'symbol') throw notPlain(what, `a ${typeof value}`);
  if (typeof value !== 'object' || value === null || seen.has(value) || isLeaf(value)) return;
  seen.add(value);
  if (value instanceof Map) value = [...value].flat();
  else if (value instanceof Set) value = [...value];
  if (Array.isArray(value)) return value.forEach((item, i) => requirePlain(item, `${what}[${i}]`, seen));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    throw notPlain(what, `an object of the class ${(value as object).constructor?.name}`);
  }
  for (const [key, item] of Object.entries(value as object)) requirePlain(item, `${what}.${key}`, seen);
}

/** Objects that are copied as they are. */
function isLeaf(value: object): boolean {
  return (
    ArrayBuffer.isView(value) ||
    types.isAnyArrayBuffer(value) ||
    types.isDate(value) ||
    types.isRegExp(value) ||
    types.isBoxedPrimitive(value)
  );
}

function notPlain(what: string, is: string): AccError {
  return new AccError(
    'ACC_NOT_PLAIN',
    `launch: ${what} is ${is}, which another process does not get as it is.`,
    {
      help: 'Pass and return plain values: numbers, strings, arrays, records and typed arrays. Of a tensor, its dataSync().',
    },
  );
}
