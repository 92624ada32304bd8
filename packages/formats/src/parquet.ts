export type { BlockDataset } from './blocks/block-dataset.js';
export type { ColumnOptions } from './columnar/column-values.js';
export type { ColumnarOptions } from './columnar/columnar-options.js';
export type { MapSample } from './map-sample.js';
export { parquetDataset, type ParquetOptions } from './parquet/parquet-dataset.js';
export type { Locations } from './sources/locations.js';
