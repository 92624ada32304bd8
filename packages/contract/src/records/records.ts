/** Whether a value is an object with named properties: a plain object or an instance of a class. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  // Arrays, functions, maps and promises have different tags.
  return Object.prototype.toString.call(value) === '[object Object]';
}

/**
 * Whether a value is a plain object, as created by literals and JSON. Instances of classes, such as
 * tensors, are not.
 */
export function isPlainRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
