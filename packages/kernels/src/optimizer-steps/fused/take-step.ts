import type { Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { AccBackend } from '../../backend.js';
import { activeGroups } from '../in-groups.js';
import type { SlotList, Update } from '../slots.js';
import type { TensorList } from '../../list-math/foreach.js';
import { openStep, type StepChunk } from './native-step.js';

export interface Step {
  readonly updates: readonly Update[];
  /** The kinds of state. */
  readonly kinds: readonly SlotList[];
  /** Further variables that the step writes. */
  readonly scalars: readonly Variable[];
  /** Updates weights and state in place. Called for all chunks together, or for those of each group. */
  update(chunks: readonly StepChunk[]): void;
  /** Called once, at the end, with the native tensors of {@link scalars}. */
  advance?(natives: TensorList): void;
}

/**
 * Takes a step on lists of native tensors: all variables at once, or group by group inside
 * `updateInGroups`.
 *
 * @returns False, with nothing changed, if the step cannot run on lists; see {@link openStep}.
 */
export function takeStep(backend: AccBackend, step: Step): boolean {
  const groups = activeGroups();
  if (groups) return takeInGroups(backend, step, groups);
  using opened = openStep(backend, step.updates, step.kinds, step.scalars);
  if (!opened) return false;
  step.update(opened.chunks);
  step.advance?.(opened.scalars);
  return true;
}

type Groups = NonNullable<ReturnType<typeof activeGroups>>;

function takeInGroups(backend: AccBackend, step: Step, groups: Groups): boolean {
  const { updates, kinds, scalars } = step;
  // A gradient that cannot run on lists must be known before anything changes.
  if (!updates.every(hasOwnGradient)) return false;
  const inGroups = new Set(groups.flatMap(({ names }) => [...names]));
  if (!run(updates.filter(({ variable }) => !inGroups.has(variable.name)))) return false;
  for (const { names, enter, leave } of groups) {
    enter();
    if (!run(updates.filter(({ variable }) => names.has(variable.name)))) throw notFloat32([...names]);
    leave();
  }
  using rest = openStep(backend, [], kinds, scalars)!;
  step.advance?.(rest.scalars);
  return true;

  function run(some: readonly Update[]): boolean {
    using opened = openStep(backend, some, kinds, []);
    if (!opened) return false;
    step.update(opened.chunks);
    return true;
  }
}

function hasOwnGradient({ variable, grad }: Update): boolean {
  return grad.dtype === 'float32' && grad.shape.join() === variable.shape.join();
}

function notFloat32(names: readonly string[]): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `The optimizer keeps state of ${names.join(', ')} that is not float32 or has another shape, so it cannot update it in pieces.`,
    { help: 'Train without fsdp.offload.' },
  );
}
