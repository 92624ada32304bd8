import { DATA_AXES, MESH_AXES, type Mesh, type MeshAxis, type Strategy } from '@acc/contract';
import { ddp as ddpOf, resolveDdpOptions } from '@acc/ddp';
import { resolveFsdpOptions } from '@acc/fsdp';
import type { ResolvedOptions } from '../options.js';
import type { Feature } from './composes.js';
import { isSharding } from './is-sharding.js';

/** The features that options ask for. The size of an axis may be known only when ranks are laid out. */
export function featuresOf(options: ResolvedOptions): Feature[] {
  const { strategy, ddp = {}, fsdp, dataLoader, deterministic, mixedPrecision } = options;
  const { gradientClipping, gradientAccumulationSteps, checkpointEvery } = options;
  const isSharded = isSharding(options);
  const isDdp = strategy === 'auto' || strategy === 'ddp' || (strategy === 'fsdp' && !isSharded);
  const { commHook, syncAt, syncEachBatch } = resolveDdpOptions(ddp);
  const batchNorm = ddp.batchNorm ?? (ddp.syncBatchNorm === false ? 'broadcast' : 'sync');
  const asked: Partial<Record<Feature, boolean>> = {
    fsdp: isSharded,
    single: strategy === 'single',
    ownStrategy: typeof strategy === 'object',
    ownSharding: typeof strategy === 'object' && strategy.traits.parameters === 'sharded',
    deterministic: deterministic !== false,
    mixedPrecision: mixedPrecision !== 'no',
    clipping: gradientClipping.norm !== undefined || gradientClipping.value !== undefined,
    accumulation: gradientAccumulationSteps > 1,
    checkpoints: checkpointEvery !== undefined,
    commHook: isDdp && commHook !== undefined,
    hookState: isDdp && commHook !== undefined && ddpOf({ commHook }).state !== undefined,
    syncAtApply: isDdp && syncAt === 'apply',
    syncEachBatch: isDdp && syncEachBatch && gradientAccumulationSteps > 1,
    batchNorm: isDdp && batchNorm !== 'sync',
    fsdpPrecision: strategy === 'fsdp' && fsdp?.mixedPrecision !== undefined,
    offload: isSharded && resolveFsdpOptions(fsdp).offload !== undefined,
    dispatchBatches: dataLoader.dispatchBatches,
  };
  const axes = axesWith((axis) => statedSize(axis, options.mesh));
  return [...axes, ...(Object.keys(asked) as Feature[]).filter((feature) => asked[feature])];
}

/** The features of a run: those that its options ask for, and the axes that have several ranks. */
export function featuresOfRun(
  options: ResolvedOptions,
  { traits }: Pick<Strategy, 'traits'>,
  mesh: Mesh,
): ReadonlySet<Feature> {
  const asked = featuresOf(options);
  const axes = axesOf(mesh);
  if (asked.includes('ownStrategy')) {
    // Such a strategy divides what its traits say, whatever the axes are.
    const isShared = axes.some((axis) => !DATA_AXES.includes(axis));
    const others = asked.filter((feature) => !(MESH_AXES as readonly Feature[]).includes(feature));
    const syncsEachBatch = asked.includes('accumulation') && traits.accumulates === 'afterReduction';
    return new Set([
      ...others,
      ...(isShared ? ['sharedRows' as const] : []),
      ...(syncsEachBatch ? ['syncEachBatch' as const] : []),
    ]);
  }
  // One rank alone has all elements.
  const ofShards: readonly Feature[] = traits.parameters === 'replicated' ? ['fsdp', 'offload'] : [];
  return new Set([...asked.filter((feature) => !ofShards.includes(feature)), ...axes]);
}

/** The axes that have several ranks. */
export function axesOf(mesh: Mesh): MeshAxis[] {
  return axesWith((axis) => mesh.size(axis));
}

/** The strategy says whether the axis `fsdp` divides anything. */
function axesWith(sizeOf: (axis: MeshAxis) => number): MeshAxis[] {
  return MESH_AXES.filter((axis) => axis !== 'fsdp' && sizeOf(axis) > 1);
}

/** The least size of an axis that options ask for. A strategy is made for experts or stages before -1 is known. */
function statedSize(axis: MeshAxis, mesh: ResolvedOptions['mesh']): number {
  const size = mesh?.[axis] ?? 1;
  return size === -1 && (axis === 'expert' || axis === 'pipeline') ? 2 : size;
}
