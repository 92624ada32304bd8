import { describeLocation, StoredReference, type Checkpoint } from '@acc/checkpoint';
import { AccError } from '@acc/contract';
import * as z from 'zod';
import type { AccumulationEntry } from './accumulation-entries.js';
import type { LocalState, SharedState } from './collect-run.js';

const count = z.number().int().nonnegative();
const position = z.looseObject({ epoch: count, position: z.number().nonnegative() });
const reference = z.instanceof(StoredReference);
/** A diverged run has rates that are not finite. */
const number = z.custom<number>((value) => typeof value === 'number', 'expected a number');
/** In version 1 of the format, tensors are listed with their references. */
const named = z.union([z.string(), z.looseObject({ name: z.string().optional(), value: reference })]);

const optimizer = z.looseObject({
  kind: z.string(),
  iterations: count.optional(),
  learningRate: number.optional(),
  stateBits: count.optional(),
  slots: z.record(z.string(), z.array(named)).optional(),
  scalars: z.array(reference).optional(),
  weights: z.array(z.looseObject({ name: z.string(), value: reference })).optional(),
});

const model = z
  .looseObject({ parameters: z.array(named), optimizers: z.array(optimizer) })
  .nullable()
  .optional();

const held = z
  .looseObject({
    variables: z.array(z.union([z.string(), count])),
    counts: z.looseObject({ own: number, all: number.optional(), samples: number.optional() }),
    sums: z.array(z.union([reference, z.literal('parts'), z.null()])),
  })
  .refine(({ variables, sums }) => variables.length === sums.length, 'one sum a variable is expected');

const accumulation = z.looseObject({
  done: count,
  parameters: z.array(z.string()).optional(),
  held: z.array(held),
});

const random = z.looseObject({ seed: number, block: number, drawn: number });

const shared = z.looseObject({
  step: count,
  model,
  data: z.array(position),
  fit: position.nullable().optional(),
  orders: z.looseObject({ seed: number, source: random }).nullable().optional(),
});

const local = z.looseObject({
  model,
  accumulation,
  buffers: z.record(z.string(), reference).optional(),
  recurrent: z.array(z.array(reference)).optional(),
  callbacks: z.record(z.string(), z.unknown()).optional(),
  plugins: z.record(z.string(), z.unknown()),
  registered: z.array(z.unknown()),
  generator: reference.nullable().optional(),
  random,
});

/** @throws AccError `ACC_CHECKPOINT_INVALID` for a tree that no save writes. */
export function sharedStateOf(tree: unknown, checkpoint: Checkpoint): SharedState<StoredReference> {
  return checked(shared, tree, 'the state of all ranks', checkpoint) as SharedState<StoredReference>;
}

/** @throws AccError `ACC_CHECKPOINT_INVALID` for a tree that no save writes. */
export function localStateOf(
  tree: unknown,
  rank: number,
  checkpoint: Checkpoint,
): LocalState<StoredReference> {
  return checked(local, tree, `the state of rank ${rank}`, checkpoint) as LocalState<StoredReference>;
}

/** @throws AccError `ACC_CHECKPOINT_INVALID` for a tree that no save writes. */
export function windowOf(
  tree: unknown,
  rank: number,
  checkpoint: Checkpoint,
): AccumulationEntry<StoredReference> {
  const what = `the accumulated gradients of rank ${rank}`;
  return checked(accumulation, tree, what, checkpoint) as AccumulationEntry<StoredReference>;
}

/** The tree itself, because the schema only looks at what this version reads. */
function checked(schema: z.ZodType, tree: unknown, what: string, { location }: Checkpoint): unknown {
  const { success, error } = schema.safeParse(tree);
  if (success) return tree;
  const { path, message } = error!.issues[0]!;
  const place = path.length > 0 ? `${path.join('.')}: ` : '';
  throw new AccError(
    'ACC_CHECKPOINT_INVALID',
    `The checkpoint in ${describeLocation(location)} is not valid: ${what}: ${place}${message}.`,
    { help: 'Load another checkpoint. This one was changed after it was written.', cause: error },
  );
}
