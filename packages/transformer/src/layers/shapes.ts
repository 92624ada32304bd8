import type { Shape, SymbolicTensor } from '@tensorflow/tfjs-layers';
import type { Tensor } from '@tensorflow/tfjs-core';

/** The arguments that tfjs-layers passes to `call` besides the inputs. */
export type Kwargs = Parameters<typeof import('@tensorflow/tfjs-layers').layers.Layer.prototype.call>[1];

/** The first of several inputs, or the only one. */
export function first<T extends Tensor | SymbolicTensor>(inputs: T | T[]): T {
  return Array.isArray(inputs) ? inputs[0]! : inputs;
}

/** The shape of the first of several inputs, or of the only one. */
export function firstShape(shapes: Shape | Shape[]): Shape {
  return Array.isArray(shapes[0]) ? (shapes[0] as Shape) : (shapes as Shape);
}

/** The last dim, which has to be known. */
export function widthOf(shapes: Shape | Shape[]): number {
  return firstShape(shapes).at(-1)!;
}
