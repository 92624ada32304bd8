export { quantizeVariable } from './quantize-variable.js';
export type { VariableReport } from './report.js';
export { quantize, type LayerReport } from './quantize.js';
export type { Activations, Algorithm, QuantizeOptions, QuantizeVariableOptions } from './options.js';
export type { Granularity, StorageDtype } from './formats/packed-matrix.js';
export type { ChannelAxis } from './storage.js';
