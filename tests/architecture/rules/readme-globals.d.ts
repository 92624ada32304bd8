import * as tfjs from '@tensorflow/tfjs';
import type { Accelerator } from '@acc/core';

// Names that examples in READMEs may use without an import or a declaration.
declare global {
  /** tfjs, which every example imports: `import * as tf from '@tensorflow/tfjs'`. */
  export import tf = tfjs;
  const images: tfjs.Tensor;
  const labels: tfjs.Tensor;
  const xs: tfjs.Tensor;
  const ys: tfjs.Tensor;
  function createModel(): tfjs.LayersModel;
  function createData(): tfjs.data.Dataset<{ xs: tfjs.Tensor; ys: tfjs.Tensor }>;
  function variablesOf(model: tfjs.LayersModel): tfjs.Variable[];
  /** For `docs/when-k-ranks-equal-one.md`: objects that were prepared before. */
  const accelerator: Accelerator;
  const model: tfjs.LayersModel;
  const optimizer: tfjs.Optimizer;
  const data: AsyncIterable<{ xs: tfjs.Tensor; ys: tfjs.Tensor }>;
  /** Any step of training. */
  function step(): void;
}
