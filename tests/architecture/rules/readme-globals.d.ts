import * as tfjs from '@tensorflow/tfjs';

// Names that examples in READMEs may use without saying where they come from.
declare global {
  /** tfjs, as every example has it: `import * as tf from '@tensorflow/tfjs'`. */
  export import tf = tfjs;
  const images: tfjs.Tensor;
  const labels: tfjs.Tensor;
  const xs: tfjs.Tensor;
  const ys: tfjs.Tensor;
  function createModel(): tfjs.LayersModel;
  function createData(): tfjs.data.Dataset<{ xs: tfjs.Tensor; ys: tfjs.Tensor }>;
  function variablesOf(model: tfjs.LayersModel): tfjs.Variable[];
  /** Any step of training. */
  function step(): void;
}
