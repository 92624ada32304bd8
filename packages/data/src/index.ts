export type { AtBoundary, BatchCounts, Dispatch, DispatchedStep, OnBatch, Step } from './batch-counts.js';
export type { BatchOf, Collated, LoaderDataset, SampleOf } from './batch-types.js';
export { columns, type Columns } from './columns.js';
export { dataKind, type DataKind } from './data-kind.js';
export { DataLoader, shardLoader, type DataLoaderConstructor } from './data-loader.js';
export type { DataLoaderOptions, LoaderShardOptions, ShardOptions } from './options.js';
export type { DatasetPosition } from './iterators.js';
export type { DataPosition } from './progress.js';
export type { Drawing } from './drawing.js';
export { shardBatches, type ShardedBatches } from './shard-batches.js';
export { tensorsIn } from './structure.js';
export { shardDataset, type DatasetLike, type ElementOf, type ShardedDataset } from './shard-dataset.js';
export { shardOf, type SequenceShard } from './sequence-shard.js';
export { splitRows, type RowRange } from './split-rows.js';
export type { SampleStream } from './stream-source.js';
export { curriculumSampler, type CurriculumSamplerOptions } from './samplers/curriculum-sampler.js';
export {
  difficultySchedule,
  type DifficultySchedule,
  type DiscreteDifficulty,
  type GrowingDifficulty,
} from './samplers/difficulty-schedule.js';
export { growSequences, type GrowSequencesOptions } from './samplers/grow-sequences.js';
export { lengthSampler, type LengthSamplerOptions } from './samplers/length-sampler.js';
export { noteUnprepared, watchUnprepared } from './unprepared-batches.js';
export { weightedSampler, type WeightedSamplerOptions } from './samplers/weighted-sampler.js';
export { padSequences, type PadSequencesOptions } from './pad-sequences.js';
export { moduleDataset, type ModuleDatasetOptions } from './module-dataset.js';
export {
  blockSampler,
  permutation,
  randomWords,
  sampleWords,
  shaped,
  type BlockSamplerOptions,
  type IndexedDataset,
  type RandomWords,
  type SampleDraw,
  type Sampler,
  type SamplerEpoch,
  type ShapedArray,
  type WorkerDataset,
} from '@acc/formats';
