export type { BlockDataset } from './formats/blocks/block-dataset.js';
export type { ColumnOptions } from './formats/columnar/column-values.js';
export type { ColumnarOptions } from './formats/columnar/columnar-options.js';
export type { MapSample } from './formats/map-sample.js';
export { parquetDataset, type ParquetOptions } from './formats/parquet/parquet-dataset.js';
export type { Locations } from './formats/sources/locations.js';
