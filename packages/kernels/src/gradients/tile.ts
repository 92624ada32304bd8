import {
  sum,
  Tile,
  type GradConfig,
  type NamedAttrMap,
  type Tensor,
  type TileAttrs,
} from '@tensorflow/tfjs-core';

/**
 * If all repeated axes have length 1, as in `broadcastTo`, dx is one sum over them.
 *
 * @param bySlices tfjs's own gradient, which adds slice by slice. It is correct in every case.
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
