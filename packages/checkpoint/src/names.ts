import { MARKER } from './format/manifest.js';
import { UNFINISHED } from './storage/file-storage.js';

/** Names of a checkpoint's files. `id` tells the files of one save from those of another into the same place. */
export const fileNames = {
  tensors: (rank: number, size: number, id: string) => `rank-${rank}-of-${size}.${id}.safetensors`,
  record: (rank: number, size: number, id: string) => `rank-${rank}-of-${size}.${id}.json`,
  index: (id: string) => `index.${id}.json`,
};

const OURS = /^(?:rank-\d+-of-\d+|index)\.([0-9a-f]{8})\.(?:safetensors|json)$/;

/** Whether a file is one that saves write: nothing else is ever deleted. */
export function isOurs(name: string): boolean {
  const finished = name.endsWith(UNFINISHED) ? name.slice(0, -UNFINISHED.length) : name;
  return finished === MARKER || OURS.test(finished);
}

/**
 * Automatic names sort as their steps do.
 *
 * @param turn From 1; later ones where earlier names are taken.
 */
export function nameOfStep(step: number, turn = 1): string {
  return `step-${String(step).padStart(8, '0')}${turn > 1 ? `.${turn}` : ''}`;
}

/** Whether a name was given by {@link nameOfStep}. */
export function isStepName(name: string): boolean {
  return /^step-\d{8,}(?:\.\d+)?$/.test(name);
}
