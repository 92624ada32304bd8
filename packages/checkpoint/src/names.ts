import { MARKER } from './format/manifest.js';
import { UNFINISHED } from './storage/unfinished.js';

/** Names of a checkpoint's files. `id` differs between two saves into the same place. */
export const fileNames = {
  tensors: (rank: number, size: number, id: string) => `rank-${rank}-of-${size}.${id}.safetensors`,
  record: (rank: number, size: number, id: string) => `rank-${rank}-of-${size}.${id}.json`,
  index: (id: string) => `index.${id}.json`,
};

const OURS = /^(?:rank-\d+-of-\d+|index)\.([0-9a-f]{8})\.(?:safetensors|json)$/;

/** Whether saves write files of this name. No other file is ever deleted. */
export function isOurs(name: string): boolean {
  const finished = name.endsWith(UNFINISHED) ? name.slice(0, -UNFINISHED.length) : name;
  return finished === MARKER || OURS.test(finished);
}

/**
 * The automatic name of a checkpoint. These names sort in the order of their steps.
 *
 * @param turn Counts from 1. A greater value gives another name if the earlier ones are taken.
 */
export function nameOfStep(step: number, turn = 1): string {
  return `step-${String(step).padStart(8, '0')}${turn > 1 ? `.${turn}` : ''}`;
}

/** Whether a name was given by {@link nameOfStep}. */
export function isStepName(name: string): boolean {
  return /^step-\d{8,}(?:\.\d+)?$/.test(name);
}

/**
 * Whether a tensor belongs to one rank's local state. Such a tensor may be a part of a whole whose
 * other elements no rank holds.
 */
export function isOfOneRank(name: string): boolean {
  return /^rank-\d+\//.test(name);
}
