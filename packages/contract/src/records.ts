/** Whether a value has names of its own: plain objects, and those of classes. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  // Arrays, functions, maps and promises have other tags.
  return Object.prototype.toString.call(value) === '[object Object]';
}

/** Whether a value is a plain object, as literals and JSON make them. Objects of classes, tensors among them, are not. */
export function isPlainRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
