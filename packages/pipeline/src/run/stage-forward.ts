import { dispose, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type TapedForward } from '@acc/contract';
import type { GraphCall } from '@acc/tfjs-internals';
import type { Stage } from '../stages/plan.js';

/**
 * Runs a function without keeping what its gradient needs; backward runs it again. See `checkpoint`
 * of core.
 */
export type Checkpoint = (fn: (...inputs: Tensor[]) => Tensor[], inputs: readonly Tensor[]) => Tensor[];

/** Activation checkpointing within stages. */
export interface Recomputation {
  readonly checkpoint: Checkpoint;
  /** The number of layers in a section. */
  readonly every: number;
}

/** How one pass of a stage is computed again. */
export interface PassRecomputation extends Recomputation {
  /**
   * Whether backward follows at once. It begins with the last section, so nothing is gained if that
   * is computed again. Otherwise passes of other micro-batches lie between.
   */
  readonly isBackwardNext: boolean;
}

/** Values between layers, by id, and their masks. */
class Values {
  readonly #tensors: Map<number, Tensor>;
  readonly #masks = new Map<number, Tensor>();

  constructor(given: Iterable<readonly [number, Tensor]>) {
    this.#tensors = new Map(given);
  }

  get(id: number): Tensor {
    return this.#tensors.get(id)!;
  }

  mask(id: number): Tensor | null {
    return this.#masks.get(id) ?? null;
  }

  add(id: number, value: Tensor, mask?: Tensor | null): void {
    if (this.#tensors.has(id)) return;
    this.#tensors.set(id, value);
    if (mask) this.#masks.set(id, mask);
  }
}

/**
 * Computes the layers of a stage as tfjs-layers does in training, and returns the values of `gives`.
 *
 * @param given The values that come from outside of the stage, by id.
 * @throws AccError `ACC_PIPELINE_MASK` for a mask that would have to leave the stage.
 */
export function stageForward(
  { calls }: Pick<Stage, 'calls'>,
  given: ReadonlyMap<number, Tensor>,
  gives: readonly number[],
  recomputation?: PassRecomputation,
): Tensor[] {
  const values = new Values(given);
  if (!recomputation) {
    for (const call of calls) runCall(call, values);
  } else {
    for (const section of sectionsOf(calls, recomputation.every, gives)) {
      if (section.isLast && recomputation.isBackwardNext)
        for (const call of section.calls) runCall(call, values);
      else runSection(section, values, recomputation.checkpoint);
    }
  }
  const masked = gives.find((id) => values.mask(id) && !given.has(id));
  if (masked !== undefined && !isResult(calls, masked)) throw maskLeaves(calls, masked);
  return gives.map((id) => values.get(id));
}

function runCall({ layer, inputs, outputs }: GraphCall, values: Values): void {
  const given = inputs.map((id) => values.get(id));
  const masks = inputs.map((id) => values.mask(id));
  const [mask] = masks;
  const isMasked = masks.some((each) => each !== null);
  const results = listOf(layer.apply(given, { training: true, ...(isMasked && { mask }) }));
  const created = layer.supportsMasking ? layer.computeMask(given, masks) : null;
  const ofResults = Array.isArray(created) ? created[0] : created;
  outputs.forEach((id, i) => values.add(id, results[i]!, ofResults));
}

const listOf = (value: unknown): Tensor[] => (Array.isArray(value) ? value : [value]) as Tensor[];

interface Section {
  readonly calls: readonly GraphCall[];
  readonly takes: readonly number[];
  readonly gives: readonly number[];
  readonly isLast: boolean;
}

function sectionsOf(calls: readonly GraphCall[], every: number, results: readonly number[]): Section[] {
  const sections: Section[] = [];
  for (let begin = 0; begin < calls.length; begin += every) {
    const local = calls.slice(begin, begin + every);
    const created = new Set(local.flatMap(({ outputs }) => outputs));
    const later = new Set([...calls.slice(begin + every).flatMap(({ inputs }) => inputs), ...results]);
    sections.push({
      calls: local,
      takes: [...new Set(local.flatMap(({ inputs }) => inputs))].filter((id) => !created.has(id)),
      gives: [...created].filter((id) => later.has(id)),
      isLast: begin + every >= calls.length,
    });
  }
  return sections;
}

function runSection({ calls, takes, gives }: Section, values: Values, checkpoint: Checkpoint): void {
  const results = checkpoint(
    (...inputs) => {
      const inner = new Values(takes.map((id, i) => [id, inputs[i]!]));
      for (const call of calls) runCall(call, inner);
      const masked = gives.find((id) => inner.mask(id) && !isResult(calls, id));
      if (masked !== undefined) throw maskLeaves(calls, masked);
      return gives.map((id) => inner.get(id));
    },
    takes.map((id) => values.get(id)),
  );
  gives.forEach((id, i) => values.add(id, results[i]!));
}

/** Whether no other layer of the model could use the mask of a value. */
function isResult(calls: readonly GraphCall[], id: number): boolean {
  const call = calls.find(({ outputs }) => outputs.includes(id));
  return call?.layer.outboundNodes.length === 0;
}

function maskLeaves(calls: readonly GraphCall[], id: number): AccError {
  const name = calls.find(({ outputs }) => outputs.includes(id))?.layer.name ?? '';
  return new AccError(
    'ACC_PIPELINE_MASK',
    `The result of layer '${name}' has a mask, which cannot leave its stage or its section of checkpointEvery.`,
    {
      help: 'Put the layers that use the mask into the same stage, or mask in the loss.',
      details: { layer: name },
    },
  );
}

/**
 * Requires that the loss depends on the model. Disposes the pass otherwise.
 *
 * @throws Error The one of tfjs, as without a pipeline.
 */
export function requireDependent(pass: TapedForward): void {
  try {
    pass.requireDependence();
  } catch (error) {
    dispose([...pass.outputs]);
    pass.dispose();
    throw error;
  }
}
