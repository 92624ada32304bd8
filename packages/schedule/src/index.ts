export { findExecutableBatchSize, type FindBatchSizeOptions } from './find-executable-batch-size.js';
export {
  gradientNoiseScale,
  type GradientNoiseScale,
  type GradientNoiseScaleOptions,
  type NoiseScaleState,
} from './gradient-noise-scale.js';
export { LRScheduler } from './lr-scheduler.js';
export type {
  ConstantOptions,
  CosineOptions,
  LinearOptions,
  OneCycleOptions,
  PolynomialOptions,
  ScheduleOptions,
  StepOptions,
} from './options.js';
export { scaleLearningRate, type ScalingRule } from './scale-learning-rate.js';
export type { ScheduleState } from './schedule.js';
export { schedules } from './schedules.js';
