import {
  AccError,
  DATA_AXES,
  GRADIENT_AXES,
  MESH_AXES,
  type Collective,
  type Mesh,
  type MeshAxis,
} from '@acc/contract';
import { SingleCollective } from './single.js';

/**
 * The number of ranks along each axis. The default is 1. At most one size may be -1; it is computed
 * from the other sizes and the number of ranks.
 */
export type MeshSizes = Readonly<Partial<Record<MeshAxis, number>>>;

/** The mesh of a job whose only axis is `data`: each rank gets its own rows of a batch. */
export function dataMesh(world: Collective): Mesh {
  return meshOf(world, { data: world.size });
}

/**
 * Lays the ranks of a group out along axes in row-major order of `MESH_AXES`: the last axis varies
 * fastest. Creates a sub-group for each line of the mesh, so every rank of the group must call it
 * with the same sizes. Axes with one rank need no group of their own: axes that group the same ranks
 * share one.
 *
 * @throws AccError `ACC_INVALID_OPTION` if the product of the sizes is not the number of ranks, and
 * the errors of `Collective.subgroup`.
 */
export function meshOf(world: Collective, sizes: MeshSizes): Mesh {
  const resolved = resolveSizes(sizes, world.size);
  const axes = MESH_AXES.filter((axis) => axis in sizes);
  const groups = new Map<string, Collective>();
  const over = (wanted: readonly MeshAxis[]): Collective => {
    const long = MESH_AXES.filter((axis) => wanted.includes(axis) && resolved[axis] > 1);
    const known = groups.get(long.join());
    if (known) return known;
    const group = groupAlong(world, resolved, long);
    groups.set(long.join(), group);
    return group;
  };
  for (const axis of axes) over([axis]);
  const dataRanks = over(DATA_AXES);
  const gradientRanks = over(GRADIENT_AXES);
  const place = coordinatesOf(world.rank, resolved);
  return {
    axes,
    coordinates: Object.fromEntries(axes.map((axis) => [axis, place[axis]])),
    size: (axis) => resolved[axis],
    ranks: (axis) => linesAlong(resolved, [axis]).find((line) => line.includes(world.rank))!,
    along: (axis) => over([axis]),
    over,
    dataRanks,
    gradientRanks,
    close() {
      for (const group of groups.values()) if (group !== world) group.close();
    },
  };
}

type Coordinates = Readonly<Record<MeshAxis, number>>;

function resolveSizes(sizes: MeshSizes, ranks: number): Coordinates {
  const given = MESH_AXES.map((axis) => sizes[axis] ?? 1);
  const known = given.filter((size) => size !== -1).reduce((product, size) => product * size, 1);
  const resolved = given.map((size) => (size === -1 ? ranks / known : size));
  const isWhole = resolved.every((size) => Number.isInteger(size) && size > 0);
  const product = resolved.reduce((total, size) => total * size, 1);
  const isClear = given.filter((size) => size === -1).length <= 1;
  if (isWhole && product === ranks && isClear)
    return Object.fromEntries(MESH_AXES.map((axis, i) => [axis, resolved[i]!])) as Coordinates;
  const text = Object.entries(sizes).map(([axis, size]) => `${axis}: ${size}`);
  const reason = isClear ? '' : ': several sizes are -1';
  const launch =
    isClear && known > 1 ? `Launch ${known} ranks (npx acc launch -n ${known} program.mjs), or give` : 'Give';
  throw new AccError(
    'ACC_INVALID_OPTION',
    `The mesh { ${text.join(', ')} } does not fit ${ranks} rank${ranks > 1 ? 's' : ''}${reason}.`,
    { help: `${launch} sizes whose product is ${ranks}; one of them may be -1.`, details: { sizes, ranks } },
  );
}

function coordinatesOf(rank: number, sizes: Coordinates): Coordinates {
  let rest = rank;
  const indices = [...MESH_AXES].reverse().map((axis): [MeshAxis, number] => {
    const index = rest % sizes[axis];
    rest = Math.floor(rest / sizes[axis]);
    return [axis, index];
  });
  return Object.fromEntries(indices) as Coordinates;
}

/**
 * Groups ranks into lines. The ranks of one line differ only in their coordinates on `axes`. There
 * is one line for each combination of the other coordinates. Every rank gets the lines in the same
 * order.
 */
function linesAlong(sizes: Coordinates, axes: readonly MeshAxis[]): number[][] {
  const count = MESH_AXES.reduce((product, axis) => product * sizes[axis], 1);
  const lines = new Map<string, number[]>();
  for (let rank = 0; rank < count; rank++) {
    const place = coordinatesOf(rank, sizes);
    const key = MESH_AXES.map((axis) => (axes.includes(axis) ? '' : place[axis])).join();
    lines.set(key, [...(lines.get(key) ?? []), rank]);
  }
  return [...lines.values()];
}

/**
 * The sub-group of this rank's line (see {@link linesAlong}). Returns `world` if there is only one
 * line, and a group of one if each line has one rank.
 */
function groupAlong(world: Collective, sizes: Coordinates, axes: readonly MeshAxis[]): Collective {
  const lines = linesAlong(sizes, axes);
  if (lines.length === 1) return world;
  if (lines[0]!.length === 1) return new SingleCollective(world.worldRanks[world.rank]);
  const local = lines.map((line) => world.subgroup(line)).find((group) => group !== undefined);
  return local as Collective;
}
