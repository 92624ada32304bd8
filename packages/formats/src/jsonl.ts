export type { BlockDataset } from './blocks/block-dataset.js';
export type { FileDatasetOptions } from './file-options.js';
export { jsonlDataset, type JsonlOptions } from './jsonl/jsonl-dataset.js';
export type { MapSample } from './map-sample.js';
export type { Locations } from './sources/locations.js';
export type { OnScan } from './sources/read-forward.js';
export type { S3SourceOptions } from './sources/s3-options.js';
export type { SourceOptions } from './sources/source.js';
