import { describe, expect, it } from 'vitest';
import { MESH_AXES } from '@acc/contract';
import { dataMesh } from './mesh.js';
import { SingleCollective } from './single.js';

describe('a mesh of one axis', () => {
  it('gives every rank rows of its own, and no other axis more than one rank', () => {
    const world = new SingleCollective();
    const third = Object.assign(Object.create(world) as SingleCollective, { rank: 2, size: 4 });
    const mesh = dataMesh(third);
    expect(mesh.dataRanks).toBe(third);
    expect([mesh.axes, mesh.coordinates]).toEqual([['data'], { data: 2 }]);
    expect(MESH_AXES.map((axis) => mesh.size(axis))).toEqual([1, 4, 1, 1, 1, 1]);
    expect(MESH_AXES.map((axis) => mesh.ranks(axis))).toEqual([[2], [0, 1, 2, 3], [2], [2], [2], [2]]);
  });
});
