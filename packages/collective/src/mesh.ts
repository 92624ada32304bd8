import type { Collective, Mesh } from '@acc/contract';

/** The mesh of a job that has no other axis than `data`: every rank gets rows of its own. */
export function dataMesh(world: Collective): Mesh {
  const all = Array.from({ length: world.size }, (_, rank) => rank);
  return {
    axes: ['data'],
    coordinates: { data: world.rank },
    size: (axis) => (axis === 'data' ? world.size : 1),
    ranks: (axis) => (axis === 'data' ? all : [world.rank]),
    dataRanks: world,
  };
}
