import {
  accelerator,
  changed,
  isDefault,
  leftOut,
  taken,
  type AcceleratorName,
  type Outcome,
  type Rule,
  type Setting,
  type ValueAt,
} from './outcome.js';

/** The axes of a mesh by which several ranks compute one model, with the part of the program. */
const NOTES = {
  tensor: "layers are cut by the program: parallelize(model, 'auto') before prepare",
  context: 'prepared data is cut along dim 1, and attention layers exchange the shards',
  pipeline: 'the program trains by model.fit, or by accelerator.pipelined(model, loss)',
  expert: 'experts are those of the layer moe of @acc/transformer',
} as const satisfies Partial<Record<Axis, string>>;

type Axis = AcceleratorName extends infer Name ? (Name extends `mesh.${infer A}` ? A : never) : never;
export type ModelAxis = keyof typeof NOTES;

/** The axis for ranks that the others leave: they have rows of their own. */
export type RestAxis = 'mesh.data' | 'mesh.fsdp';

/** The settings from a size along an axis. The formats that do not give all sizes leave `rest` the others. */
export interface Placing {
  readonly rest?: RestAxis;
  readonly more?: readonly Setting[];
  /** The difference here, after the note of the axis. */
  readonly note?: string | undefined;
}

/** The outcome for a number of ranks along an axis. */
export function ranksOn(axis: ModelAxis, value: unknown, { rest, more = [], note }: Placing = {}): Outcome {
  if (value === 0 || value === 1) return isDefault('one rank');
  if (!Number.isSafeInteger(value)) return leftOut('expected a number of ranks');
  const others = rest === undefined ? [] : [accelerator(rest, -1)];
  return changed(
    [NOTES[axis], note].filter(Boolean).join('; '),
    ...others,
    accelerator(`mesh.${axis}`, value),
    ...more,
  );
}

/** The algorithm of DeepSpeed Ulysses, and that of PyTorch's context parallelism. */
export const BY_HEADS = accelerator('context.attention', 'heads');
export const BY_RING = accelerator('context.attention', 'ring');

/** For sizes along an axis in formats that leave the other ranks to `restOf`. */
export const onAxisBeside =
  (restOf: (at: ValueAt) => RestAxis, attention: Setting) =>
  (axis: ModelAxis): Rule =>
  (value, at) =>
    ranksOn(axis, value, { rest: restOf(at), ...(axis === 'context' && { more: [attention] }) });

/** The number of micro-batches of a step: parts of a batch in a pipeline, and batches elsewhere. */
export function microBatches(value: unknown, isPipeline: boolean): Outcome {
  if (!isPipeline) return taken(accelerator('gradientAccumulationSteps', value));
  return changed(
    'the parts of a batch: multiply the batch size of the program by it',
    accelerator('pipeline.microBatches', value),
  );
}

/** Whether the value is a size of more than one rank. */
export const isSeveral = (value: unknown): boolean => Number(value ?? 1) > 1;

/** For details of an implementation, which matter only with several ranks on the axis. */
export const ofAxis =
  (sizeKey: string, note: string): Rule =>
  (_, at) =>
    isSeveral(at(sizeKey)) ? leftOut(note) : isDefault('one rank');
