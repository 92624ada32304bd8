import { serialization } from '@tensorflow/tfjs-core';

/**
 * The name of an object's class, if that class is the one that tfjs registered under the name. Returns undefined for a
 * subclass, and for a class of the user's with the same name: they may compute anything.
 */
export function ownClassName(object: object): string | undefined {
  const { constructor } = object as { readonly constructor: { readonly className?: string } };
  if (!Object.hasOwn(constructor, 'className')) return undefined;
  const { className } = constructor;
  const registered = serialization.SerializationMap.getMap().classNameMap[className!];
  return registered?.[0] === constructor ? className : undefined;
}

export const isOwnClass = (object: object, className: string): boolean => ownClassName(object) === className;
