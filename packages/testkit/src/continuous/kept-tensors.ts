import type { Tensor } from '@tensorflow/tfjs-core';
import { engineInternals, replaceForGood } from '@acc/tfjs-internals';

/** Where each living tensor was kept, by tensor. */
const places = new Map<Tensor, string>();

/** Notes from now on where tensors are kept or become variables. It makes each such call slower. */
export function traceKeptTensors(): void {
  const tfjs = engineInternals();
  replaceForGood(tfjs, 'keep', (own) => (tensor) => {
    places.set(tensor, new Error().stack?.split('\n').slice(3, 11).join('\n') ?? '');
    return own.call(tfjs, tensor);
  });
}

/** The places where tensors that are alive were kept since the last call, each with their number. */
export function takeKeptPlaces(): readonly string[] {
  const counts = new Map<string, number>();
  for (const [tensor, place] of places)
    if (!tensor.isDisposed) counts.set(place, (counts.get(place) ?? 0) + 1);
  places.clear();
  return [...counts].map(([place, count]) => `${count} tensors were kept at\n${place}`);
}
