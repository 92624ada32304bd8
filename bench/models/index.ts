export { createConvnet, type ConvnetSizes } from './convnet.js';
export { createModel, type Sizes } from './create-model.js';
export { createGpt, type GptSizes } from './gpt.js';
export { createMlp, type MlpSizes } from './mlp.js';
export { countParameters, seededRandom, type Batch, type BenchModel, type Tf } from './model.js';
