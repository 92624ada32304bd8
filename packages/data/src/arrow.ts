export { arrowDataset } from './formats/arrow/arrow-dataset.js';
export type { BlockDataset } from './formats/blocks/block-dataset.js';
export type { ColumnOptions } from './formats/columnar/column-values.js';
export type { ColumnarOptions } from './formats/columnar/columnar-options.js';
export type { MapSample } from './formats/map-sample.js';
export type { Locations } from './formats/sources/locations.js';
