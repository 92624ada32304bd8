export { quantizeVariable } from './quantize-variable.js';
export type { LayerReport, VariableReport } from './report.js';
export { quantize } from './quantize.js';
export { convertQat, freezeObservers } from './qat/convert-qat.js';
export { prepareQat } from './qat/prepare-qat.js';
export type { QatOptions } from './qat/options.js';
export type { CalibrationBatch, CalibrationData, CalibrationInputs } from './calibration/batches.js';
export type { ObserverName } from './calibration/observers.js';
export type {
  Activations,
  Algorithm,
  CalibratedAlgorithm,
  GptqOptions,
  QuantizeOptions,
  QuantizeVariableOptions,
  SmoothQuantOptions,
} from './options.js';
export type { ChannelAxis, Granularity, StorageDtype } from '@acc/kernels';
