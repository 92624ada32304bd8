import { describe, expect, it } from 'vitest';
import { MESH_AXES, type Collective } from '@acc/contract';
import { dataMesh, meshOf, type MeshSizes } from './mesh.js';
import { SingleCollective } from './single.js';

/** A rank of a group, as far as a mesh looks at it. Its sub-groups are known by their ranks. */
function rankOf(size: number, rank: number): Collective {
  const worldRanks = Array.from({ length: size }, (_, i) => i);
  const subgroup = (ranks: readonly number[]) =>
    ranks.includes(rank) ? { worldRanks: ranks, size: ranks.length, rank: ranks.indexOf(rank) } : undefined;
  return Object.assign(new SingleCollective(), { rank, size, worldRanks, subgroup }) as Collective;
}

describe('a mesh', () => {
  it('with one axis gives every rank its own rows, and every other axis size 1', () => {
    const third = rankOf(4, 2);
    const mesh = dataMesh(third);
    expect(mesh.dataRanks).toBe(third);
    expect(mesh.along('data')).toBe(third);
    expect(mesh.along('tensor')).toMatchObject({ rank: 0, size: 1, worldRanks: [2] });
    expect([mesh.axes, mesh.coordinates]).toEqual([['data'], { data: 2 }]);
    expect(MESH_AXES.map((axis) => mesh.size(axis))).toEqual([1, 4, 1, 1, 1, 1]);
    expect(MESH_AXES.map((axis) => mesh.ranks(axis))).toEqual([[2], [0, 1, 2, 3], [2], [2], [2], [2]]);
  });

  it('numbers ranks row by row, with the last axis fastest', () => {
    const sizes: MeshSizes = { tensor: 2, data: -1, pipeline: 2 };
    const meshes = Array.from({ length: 12 }, (_, rank) => meshOf(rankOf(12, rank), sizes));
    expect(meshes[0]!.axes).toEqual(['pipeline', 'data', 'tensor']);
    expect(meshes.map(({ coordinates: c }) => [c.pipeline, c.data, c.tensor].join(''))).toEqual([
      '000',
      '001',
      '010',
      '011',
      '020',
      '021',
      '100',
      '101',
      '110',
      '111',
      '120',
      '121',
    ]);
    const { ranks, along, dataRanks, size } = meshes[9]!;
    expect([ranks('tensor'), ranks('data'), ranks('pipeline')]).toEqual([
      [8, 9],
      [7, 9, 11],
      [3, 9],
    ]);
    expect(size('data')).toBe(3);
    expect(along('data')).toMatchObject({ rank: 1, size: 3, worldRanks: [7, 9, 11] });
    expect(dataRanks.worldRanks).toEqual([7, 9, 11]);
  });

  it('gives different rows to ranks that differ along data, fsdp or expert', () => {
    const { dataRanks } = meshOf(rankOf(16, 5), { data: 2, fsdp: 2, expert: 2, tensor: 2 });
    expect(dataRanks.worldRanks).toEqual([1, 3, 5, 7, 9, 11, 13, 15]);
  });

  it.each<MeshSizes>([
    { data: 3 },
    { data: -1, tensor: -1 },
    { data: -1, tensor: 3 },
    { data: 0 },
    { data: 1.5 },
  ])('%j is refused on 4 ranks', (sizes) => {
    const make = () => meshOf(rankOf(4, 0), sizes);
    expect(make).toThrowError(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
  });

  it.each<[number, MeshSizes, RegExp]>([
    [1, { pipeline: 2 }, /^Launch 2 ranks \(npx acc launch -n 2 program\.mjs\), or give/],
    [1, { data: -1, expert: 2 }, /^Launch 2 ranks \(npx acc launch -n 2 /],
    [4, { context: 2, tensor: 3 }, /^Launch 6 ranks.* or give sizes whose product is 4; /],
    [4, { fsdp: 0 }, /^Give sizes whose product is 4/],
    [4, { data: -1, tensor: -1 }, /^Give sizes/],
  ])('on %i ranks, the next step for %j', (ranks, sizes, help) => {
    expect(() => meshOf(rankOf(ranks, 0), sizes)).toThrowError(
      expect.objectContaining({ help: expect.stringMatching(help) as string }),
    );
  });

  it('says that several sizes are -1', () => {
    const make = () => meshOf(rankOf(4, 0), { data: -1, tensor: -1 });
    expect(make).toThrowError(/does not fit 4 ranks: several sizes are -1/);
  });
});
