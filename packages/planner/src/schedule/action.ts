/**
 * The work of a rank on one micro-batch in one stage. `forward` computes the outputs of the stage.
 * `backward` computes gradients, of weights too unless the schedule has `weights` actions: then
 * `backward` computes the gradients of the stage's inputs, and `weights` those of its weights.
 */
export type ActionKind = 'forward' | 'backward' | 'weights';

/** One entry of a schedule's table. */
export interface Action {
  readonly kind: ActionKind;
  /** The stage, from 0 at the model's inputs. */
  readonly stage: number;
  /** The micro-batch, from 0. */
  readonly microBatch: number;
}

/** The schedules that there are. */
export const SCHEDULES = ['gpipe', '1f1b', 'interleaved', 'zeroBubble'] as const;

export type ScheduleName = (typeof SCHEDULES)[number];

/** The table of a schedule: which actions each rank of a pipeline takes, in order. */
export interface Schedule {
  readonly name: ScheduleName;
  /** The number of ranks of the pipeline. */
  readonly ranks: number;
  /** The number of stages: `ranks` times the chunks of each rank. Stage s is on rank s % ranks. */
  readonly stages: number;
  readonly microBatches: number;
  /** The actions of each rank. */
  readonly rows: readonly (readonly Action[])[];
}

/** The shape of a pipeline. */
export interface PipelineShape {
  readonly ranks: number;
  /** The number of stages of each rank. */
  readonly chunks: number;
  readonly microBatches: number;
}

export const forward = (stage: number, microBatch: number): Action => ({
  kind: 'forward',
  stage,
  microBatch,
});
export const backward = (stage: number, microBatch: number): Action => ({
  kind: 'backward',
  stage,
  microBatch,
});
export const weights = (stage: number, microBatch: number): Action => ({
  kind: 'weights',
  stage,
  microBatch,
});

/** Equal for actions that are the same. */
export const keyOf = ({ kind, stage, microBatch }: Action): string => `${kind} ${stage} ${microBatch}`;

/** The rank that a stage is on. */
export const rankOf = (stage: number, ranks: number): number => stage % ranks;

/** 0, 1, … below `length`. */
export const upTo = (length: number): number[] => Array.from({ length }, (_, i) => i);
