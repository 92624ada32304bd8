export { blockSampler, type BlockSamplerOptions } from './blocks/block-sampler.js';
export { permutation, shuffledNumbers } from './order/permutation.js';
export { randomBelow, randomWords, sampleWords, uniform, type RandomWords } from './order/random.js';
export {
  orderOf,
  requireEach,
  requireNumbers,
  samplerError,
  type Sampler,
  type SamplerEpoch,
} from './order/sampler.js';
export type { IndexedDataset, SampleDraw, WorkerDataset } from './samples/indexed-dataset.js';
export {
  isShaped,
  shaped,
  sizeOf,
  writerOf,
  type NumberArray,
  type ShapedArray,
} from './samples/shaped-array.js';
