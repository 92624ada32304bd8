import { serialization } from '@tensorflow/tfjs-core';

/**
 * The name of an object's class, if tfjs registered that class under the name. Undefined for a
 * subclass, and for a user's class of the same name, because these may compute something else.
 */
export function tfjsClassName(object: object): string | undefined {
  const { constructor } = object as { readonly constructor: { readonly className?: string } };
  if (!Object.hasOwn(constructor, 'className')) return undefined;
  const { className } = constructor;
  const registered = serialization.SerializationMap.getMap().classNameMap[className!];
  return registered?.[0] === constructor ? className : undefined;
}

export const isTfjsClass = (object: object, className: string): boolean =>
  tfjsClassName(object) === className;

/** Whether a program's subclass of a class of tfjs overrides a method. */
export function overrides(object: object, method: string): boolean {
  for (let next = Object.getPrototypeOf(object) as object | null; next;) {
    if (tfjsClassName(next) !== undefined) return false;
    if (Object.hasOwn(next, method)) return true;
    next = Object.getPrototypeOf(next) as object | null;
  }
  return false;
}
