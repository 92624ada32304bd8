import type { Collective, Mesh, MeshAxis } from '@acc/contract';

/**
 * The ranks with this rank's place on the axis `tensor`, which hold the same pieces. Every rank of
 * the job calls it.
 */
export function alongTensor(job: Collective, mesh: Mesh): Collective {
  const count = mesh.size('tensor');
  if (count === 1) return job;
  // The axis varies fastest over the ranks.
  const planes = Array.from({ length: count }, (_, place) =>
    Array.from({ length: job.size / count }, (_, i) => i * count + place),
  );
  return planes.map((ranks) => job.subgroup(ranks)).find((group) => group !== undefined)!;
}

/** The mesh of those ranks: all other axes. */
export function withoutTensor(mesh: Mesh): Mesh {
  const { tensor: _, ...coordinates } = mesh.coordinates;
  return Object.create(mesh, {
    axes: { value: mesh.axes.filter((axis) => axis !== 'tensor') },
    coordinates: { value: coordinates },
    size: { value: (axis: MeshAxis) => (axis === 'tensor' ? 1 : mesh.size(axis)) },
    close: { value: () => {} },
  }) as Mesh;
}
