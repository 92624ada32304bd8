export type { BlockDataset } from './formats/blocks/block-dataset.js';
export type { FileDatasetOptions } from './formats/file-options.js';
export type { MapSample } from './formats/map-sample.js';
export type { Locations } from './formats/sources/locations.js';
export type { OnScan } from './formats/sources/read-forward.js';
export type { SourceOptions } from './formats/sources/source.js';
export type { S3SourceOptions } from './formats/sources/s3-source.js';
export type { ImageOptions } from './formats/webdataset/decode-image.js';
export { webdataset, type WebdatasetOptions, type WebSample } from './formats/webdataset/webdataset.js';
