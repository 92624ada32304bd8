export type { BlockDataset } from './blocks/block-dataset.js';
export type { FileDatasetOptions } from './file-options.js';
export type { MapSample } from './map-sample.js';
export type { Locations } from './sources/locations.js';
export type { OnScan } from './sources/read-forward.js';
export type { S3SourceOptions } from './sources/s3-options.js';
export type { SourceOptions } from './sources/source.js';
export type { FeatureSpec, FeatureSpecs, FeatureValue, FeatureValues } from './tfrecord/features.js';
export { tfrecordDataset, type FeatureLists, type TfrecordOptions } from './tfrecord/tfrecord-dataset.js';
