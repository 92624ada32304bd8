export {
  pictureOf,
  scheduleOf,
  SCHEDULES,
  simulate,
  type Action,
  type ActionCosts,
  type ActionKind,
  type ActionTime,
  type CostOfAction,
  type PipelineShape,
  type Schedule,
  type ScheduleName,
  type Simulation,
  type TimedAction,
} from '@acc/planner/schedules';
export {
  ModelPipeline,
  type ModelPipelineContext,
  type ModelPipelineOptions,
  type PipelineResult,
  type PipelineStep,
} from './model-pipeline.js';
export { observeActions, type ActionObserver, type ObservedAction } from './run/observe-actions.js';
export type { Checkpoint, Recomputation } from './run/stage-forward.js';
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
