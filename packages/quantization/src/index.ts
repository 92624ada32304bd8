export { quantizeVariable } from './quantize-variable.js';
export type { VariableReport } from './report.js';
export { quantize, type LayerReport } from './quantize.js';
export type { Activations, Algorithm, QuantizeOptions, QuantizeVariableOptions } from './options.js';
export type { ChannelAxis, Granularity, StorageDtype } from '@acc/kernels';
