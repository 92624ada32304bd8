export type { BlockDataset } from './blocks/block-dataset.js';
export type { FileDatasetOptions } from './file-options.js';
export type { MapSample } from './map-sample.js';
export type { Locations } from './sources/locations.js';
export type { OnScan } from './sources/read-forward.js';
export type { SourceOptions } from './sources/source.js';
export type { S3SourceOptions } from './sources/s3-options.js';
export type { ImageOptions } from './webdataset/decode-image.js';
export { webdataset, type WebdatasetOptions, type WebSample } from './webdataset/webdataset.js';
