import type { StateLayer } from '@acc/contract';
import { invalidPacked } from './errors.js';
import type { Parts } from './parts.js';

interface Grouping {
  readonly columns: number;
  readonly groups: number;
}

/**
 * The group of each column: as stored, or of equal groups of consecutive columns.
 *
 * @param end Of the tensor with indices, which may be missing.
 * @throws AccError `ACC_PACKED_WEIGHTS_INVALID`.
 */
export async function groupIndices(
  parts: Parts,
  end: string,
  { columns, groups }: Grouping,
  layer: StateLayer,
): Promise<ArrayLike<number>> {
  if (!parts.has(end))
    return Int32Array.from({ length: columns }, (_, i) => Math.floor((i * groups) / columns));
  const indices = await parts.wholes(end, layer);
  const wrong = indices.find((index) => !(index >= 0 && index < groups));
  if (wrong === undefined) return indices;
  throw invalidPacked(parts.prefix + end, `has the group ${wrong}, but there are ${groups} groups`);
}

/** @throws AccError `ACC_PACKED_WEIGHTS_INVALID` unless groups of columns are equal. */
export function requireEqualGroups(name: string, { columns, groups }: Grouping): void {
  if (groups > 0 && columns % groups === 0) return;
  throw invalidPacked(name, `has ${groups} groups, which do not divide ${columns} columns`);
}
