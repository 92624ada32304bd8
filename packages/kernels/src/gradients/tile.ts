import {
  sum,
  Tile,
  type GradConfig,
  type NamedAttrMap,
  type Tensor,
  type TileAttrs,
} from '@tensorflow/tfjs-core';

/**
 * Where only axes of length 1 are repeated, as `broadcastTo` does, dx is one sum over them.
 *
 * @param bySlices tfjs's own, which adds slice after slice: right for every case.
 */
export function tileGradient(bySlices: GradConfig): GradConfig {
  return {
    kernelName: Tile,
    inputsToSave: ['x'],
    gradFunc: (dy: Tensor | Tensor[], saved: Tensor[], attrs: NamedAttrMap) => {
      const { reps } = attrs as unknown as TileAttrs;
      const [x] = saved as [Tensor];
      const repeated = reps.flatMap((count, dim) => (count === 1 ? [] : [dim]));
      if (repeated.some((dim) => x.shape[dim] !== 1)) return bySlices.gradFunc(dy, saved, attrs);
      return { x: () => sum(dy as Tensor, repeated, true) };
    },
  };
}
