import { axesOf, featuresOf, requireTogether } from '#platform/requirements';
import { ranksPerHost, warnOfAxesBetweenHosts } from '#platform/several-ranks';
import { AccError, type Collective, type Mesh, type MeshAxis } from '@acc/contract';
import { dataMesh, meshOf as layOut } from '@acc/collective';
import { resolveFsdpOptions } from '@acc/fsdp';
import type { LaunchEnvironment } from '../environment.js';
import type { ResolvedOptions } from '../options.js';
import { isSharding } from './is-sharding.js';

/**
 * The mesh that the options ask for. Every rank calls it.
 *
 * @throws AccError `ACC_INVALID_OPTION` for sizes that do not fit the number of ranks, or that the
 * strategy does not use; the code of a refusal for axes that do not go with the options.
 */
export function meshOf(
  options: ResolvedOptions,
  collective: Collective,
  environment: Pick<LaunchEnvironment, 'localRank' | 'localSize'>,
): Mesh {
  const { mesh, strategy, fsdp } = options;
  const isSharded = isSharding(options);
  if (mesh) {
    if (isSharded && mesh.fsdp === undefined) throw withoutAxis();
    if (typeof strategy !== 'object' && !isSharded && mesh.fsdp !== undefined) {
      throw unusedAxis('fsdp', strategy, FOR_SHARDS);
    }
    if ((mesh.expert ?? 1) !== 1 && strategy === 'single') throw unusedAxis('expert', strategy, FOR_EXPERTS);
    const created = layOut(collective, mesh);
    try {
      requireTogether([...featuresOf(options), ...axesOf(created)]);
    } catch (error) {
      created.close();
      throw error;
    }
    if (collective.rank === 0) warnOfAxesBetweenHosts(created, collective.hosts, console.warn);
    return created;
  }
  if (!isSharded) return dataMesh(collective);
  if (!resolveFsdpOptions(fsdp).isHybrid) return layOut(collective, { fsdp: collective.size });
  return layOut(collective, { data: -1, fsdp: ranksPerHost(collective, environment) });
}

function withoutAxis(): AccError {
  return new AccError(
    'ACC_INVALID_OPTION',
    "mesh: the strategy 'fsdp' shards over the axis fsdp, which the mesh does not have.",
    { help: 'Add it, for example mesh: { data: -1, fsdp: 2 }, or leave mesh out to shard over all ranks.' },
  );
}

const FOR_SHARDS = "Give strategy: 'fsdp' with a stage that shards, or mesh: { data: … }.";
const FOR_EXPERTS = "Use the strategy 'ddp' or 'fsdp' with this axis, or a mesh without it.";

function unusedAxis(axis: MeshAxis, strategy: string, help: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `mesh.${axis} has no effect: strategy is '${strategy}'.`, {
    help,
  });
}
