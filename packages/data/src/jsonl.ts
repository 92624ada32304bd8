export type { BlockDataset } from './formats/blocks/block-dataset.js';
export type { FileDatasetOptions } from './formats/file-options.js';
export { jsonlDataset, type JsonlOptions } from './formats/jsonl/jsonl-dataset.js';
export type { MapSample } from './formats/map-sample.js';
export type { Locations } from './formats/sources/locations.js';
export type { OnScan } from './formats/sources/read-forward.js';
export type { S3SourceOptions } from './formats/sources/s3-source.js';
export type { SourceOptions } from './formats/sources/source.js';
