import { beforeAll, describe, expect, it } from 'vitest';
import { onRanks } from './on-ranks.js';
import type { Found } from './ranks/mesh-metrics.js';

/** Four ranks. */
const MESHES: readonly Readonly<Record<string, number>>[] = [
  { tensor: 4 },
  { pipeline: 2, tensor: 2 },
  { data: 2, pipeline: 2 },
  { data: 2, tensor: 2 },
  { data: 2, expert: 2 },
  { fsdp: 2, tensor: 2 },
];
const CASES = MESHES.map((mesh, at) => ({ mesh, at, name: JSON.stringify(mesh) }));

let found: Found[][];

beforeAll(async () => {
  const module = new URL('./ranks/mesh-metrics.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  found = await onRanks<Found[]>({ module, ranks: 4, args: MESHES, env });
});

it.each(CASES)('gatherForMetrics on $name gives each row once, in order', ({ at }) => {
  for (const { [at]: own } of found) {
    expect(own!.rows).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9, 10],
    ]);
    const rows = own!.rows.flat();
    expect(own!.predicted).toEqual(rows.map((row) => 10 * row));
    expect(own!.names).toEqual(rows.map((row) => `row ${row}`));
  }
});

describe.each(['op', 'layer'] as const)('without a seed, dropout by %s', (by) => {
  it.each(CASES.filter(({ mesh }) => 'tensor' in mesh))(
    'is alike on ranks of $name that differ in tensor only',
    ({ mesh, at }) => {
      const masks = new Map<string, Set<string>>();
      for (const { [at]: own } of found) {
        const { tensor: _, ...others } = own!.coordinates;
        const line = JSON.stringify(others);
        masks.set(line, (masks.get(line) ?? new Set()).add(own!.kept[by]));
      }
      const lines = [...masks.values()];
      expect(lines).toHaveLength(4 / mesh['tensor']!);
      for (const line of lines) expect(line.size).toBe(1);
      // Lines have other masks.
      expect(new Set(lines.flatMap((line) => [...line])).size).toBe(lines.length);
    },
  );

  it('differs on ranks with rows of their own', () => {
    const at = MESHES.findIndex((mesh) => 'expert' in mesh);
    expect(new Set(found.map(({ [at]: own }) => own!.kept[by])).size).toBe(4);
  });
});
