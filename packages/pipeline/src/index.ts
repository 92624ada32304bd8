export {
  ModelPipeline,
  type ModelPipelineContext,
  type ModelPipelineOptions,
  type PipelineResult,
  type PipelineStep,
} from './model-pipeline.js';
export { observeActions, type ActionObserver, type ObservedAction } from './run/observe-actions.js';
export type { Checkpoint, Recomputation } from './run/stage-forward.js';
export {
  SCHEDULES,
  type Action,
  type ActionKind,
  type PipelineShape,
  type Schedule,
  type ScheduleName,
} from './schedule/action.js';
export { pictureOf } from './schedule/picture.js';
export { scheduleOf } from './schedule/schedule.js';
export {
  simulate,
  type ActionCosts,
  type ActionTime,
  type CostOfAction,
  type Simulation,
  type TimedAction,
} from './schedule/simulate.js';
export type { ModelInputs } from './training/micro-batches.js';
export {
  Pipelines,
  type AnyModel,
  type PipelinedLoss,
  type PipelinesContext,
  type PipelineSettings,
} from './training/pipelines.js';
export type { LossWeight, StagedTraining } from './training/staged-training.js';
export { staged } from './weights/staged.js';
