import { AccError, type Collective, type Mesh, type MeshAxis } from '@acc/contract';
import { dataMesh, meshOf as layOut } from '@acc/collective';
import { resolveFsdpOptions } from '@acc/fsdp';
import type { LaunchEnvironment } from '../environment.js';
import type { ResolvedOptions } from '../options.js';

/** Axes that no strategy of this package combines. A strategy of the program may. */
const APART: readonly (readonly [MeshAxis, MeshAxis])[] = [
  ['pipeline', 'context'],
];

/**
 * The mesh that the options ask for. Every rank calls it.
 *
 * @throws AccError `ACC_INVALID_OPTION` for sizes that do not fit the number of ranks, or that the
 * strategy does not use.
 */
export function meshOf(
  { mesh, strategy, fsdp, deterministic }: ResolvedOptions,
  collective: Collective,
  environment: Pick<LaunchEnvironment, 'localRank' | 'localSize'>,
): Mesh {
  const isSharded = strategy === 'fsdp' && fsdp?.stage !== 'NO_SHARD';
  if (mesh) {
    if (isSharded && mesh.fsdp === undefined) throw withoutAxis();
    if (typeof strategy !== 'object' && !isSharded && mesh.fsdp !== undefined) throw unusedAxis(strategy);
    if (typeof strategy !== 'object') requireTogether(mesh);
    if ((mesh.expert ?? 1) !== 1) requireExperts({ strategy, fsdp, deterministic });
    const made = layOut(collective, mesh);
    if (deterministic !== false && made.dataRanks.size < collective.size) {
      made.close();
      throw notDeterministic();
    }
    return made;
  }
  if (!isSharded) return dataMesh(collective);
  if (!resolveFsdpOptions(fsdp).isHybrid) return layOut(collective, { fsdp: collective.size });
  return layOut(collective, { data: -1, fsdp: ranksPerHost(collective, environment) });
}

/** @throws AccError `ACC_HOSTS_DIFFER` if hosts cannot form the rows of a mesh. */
function ranksPerHost(
  collective: Collective,
  { localRank, localSize }: Pick<LaunchEnvironment, 'localRank' | 'localSize'>,
): number {
  const places = collective.allGatherObject({ localRank, localSize });
  const isEven = places.every((place, rank) => {
    return place.localSize === localSize && place.localRank === rank % localSize;
  });
  if (isEven && collective.size % localSize === 0) return localSize;
  const lines = places.map((place, rank) => `  rank ${rank}: ${place.localRank} of ${place.localSize}`);
  throw new AccError(
    'ACC_HOSTS_DIFFER',
    `HYBRID_SHARD shards over the ranks of each host. Hosts do not have the same number of ranks, or their ranks are not numbered one host after the other. Each rank's place on its host:\n${lines.join('\n')}`,
    {
      help: 'Start as many ranks on every host, or say over how many ranks to shard: mesh: { data: -1, fsdp: … }.',
      details: { places },
    },
  );
}

/** @throws AccError `ACC_STRATEGY_CANNOT` for axes that do not work together. */
function requireTogether(mesh: NonNullable<ResolvedOptions['mesh']>): void {
  const pair = APART.find((axes) => axes.every((axis) => (mesh[axis] ?? 1) !== 1));
  if (!pair) return;
  throw new AccError(
    'ACC_STRATEGY_CANNOT',
    `The axes ${pair.join(' and ')} of a mesh do not work together yet.`,
    {
      help: `Use one of them, beside data${pair.includes('pipeline') ? '' : ' or fsdp'}.`,
      details: { mesh },
    },
  );
}

/** @throws AccError `ACC_INVALID_OPTION`, `ACC_DETERMINISTIC_UNSUPPORTED` beside the axis expert. */
function requireExperts({
  strategy,
  fsdp,
  deterministic,
}: Pick<ResolvedOptions, 'strategy' | 'fsdp' | 'deterministic'>): void {
  if (deterministic !== false) {
    throw new AccError('ACC_DETERMINISTIC_UNSUPPORTED', 'deterministic does not support the axis expert.', {
      help: 'Use the axis data, or leave deterministic out.',
    });
  }
  if (strategy === 'single') {
    throw new AccError('ACC_INVALID_OPTION', "mesh.expert has no effect: strategy is 'single'.", {
      help: "Use the strategy 'ddp' or 'fsdp' with this axis, or a mesh without it.",
    });
  }
  if (strategy === 'fsdp' && resolveFsdpOptions(fsdp).offload) {
    throw new AccError('ACC_INVALID_OPTION', 'fsdp.offload does not support the axis expert.', {
      help: 'Leave one of the two out. Each rank has the weights of its own experts only.',
    });
  }
}

function notDeterministic(): AccError {
  return new AccError(
    'ACC_DETERMINISTIC_UNSUPPORTED',
    'deterministic does not support a mesh whose ranks share rows.',
    { help: 'Use only the axes data and fsdp, or leave deterministic out.' },
  );
}

function withoutAxis(): AccError {
  return new AccError(
    'ACC_INVALID_OPTION',
    "mesh: the strategy 'fsdp' shards over the axis fsdp, which the mesh does not have.",
    { help: 'Add it, for example mesh: { data: -1, fsdp: 2 }, or leave mesh out to shard over all ranks.' },
  );
}

function unusedAxis(strategy: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `mesh.fsdp has no effect: strategy is '${strategy}'.`, {
    help: "Give strategy: 'fsdp' with a stage that shards, or mesh: { data: … }.",
  });
}
