export { quantizeVariable } from './quantize-variable.js';
export type { LayerReport, VariableReport } from './report.js';
export { quantize } from './quantize.js';
export { convertQat, freezeObservers } from './qat/convert-qat.js';
export { prepareQat } from './qat/prepare-qat.js';
export type { QatOptions } from './qat/options.js';
export type { Activations, Algorithm, QuantizeOptions, QuantizeVariableOptions } from './options.js';
export type { ChannelAxis, Granularity, StorageDtype } from '@acc/kernels';
