import { MESH_AXES, type Collective, type Mesh, type MeshAxis } from '@acc/contract';

/** The ranks with this rank's place on the axis `tensor`, which hold the same shards. */
export function alongTensor(mesh: Mesh): Collective {
  return mesh.over(MESH_AXES.filter((axis) => axis !== 'tensor'));
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
