import { MESH_AXES, type Mesh, type MeshAxis, type Strategy } from '@acc/contract';
import { ddp as ddpOf, resolveDdpOptions } from '@acc/ddp';
import { resolveFsdpOptions } from '@acc/fsdp';
import type { ResolvedOptions } from '../options.js';
import type { Feature } from './composes.js';

/** Whether the options divide parameters over ranks by `fsdp`. */
export function isSharding({ strategy, fsdp }: Pick<ResolvedOptions, 'strategy' | 'fsdp'>): boolean {
  return strategy === 'fsdp' && fsdp?.stage !== 'NO_SHARD';
}

/** The features that options ask for. The size of an axis may be known only when ranks are laid out. */
export function featuresOf(options: ResolvedOptions): Feature[] {
  const { strategy, ddp = {}, fsdp, dataLoader, deterministic, mixedPrecision } = options;
  const { gradientClipping, gradientAccumulationSteps, checkpointEvery } = options;
  const isSharded = isSharding(options);
  const { commHook, syncAt } = resolveDdpOptions(ddp);
  const batchNorm = ddp.batchNorm ?? (ddp.syncBatchNorm === false ? 'broadcast' : 'sync');
  const asked: Partial<Record<Feature, boolean>> = {
    fsdp: isSharded,
    single: strategy === 'single',
    ownStrategy: typeof strategy === 'object',
    ownSharding: typeof strategy === 'object' && strategy.traits.parameters === 'sharded',
    deterministic: deterministic !== false,
    mixedPrecision: mixedPrecision !== 'no',
    clipping: gradientClipping !== undefined,
    accumulation: gradientAccumulationSteps > 1,
    checkpoints: checkpointEvery !== undefined,
    commHook: commHook !== undefined,
    hookState: commHook !== undefined && ddpOf({ commHook }).getState !== undefined,
    syncAtApply: syncAt === 'apply',
    batchNorm: batchNorm !== 'sync',
    fsdpPrecision: fsdp?.mixedPrecision !== undefined,
    offload: isSharded && resolveFsdpOptions(fsdp).offload !== undefined,
    dispatchBatches: dataLoader.dispatchBatches,
  };
  const axes = axesWith((axis) => options.mesh?.[axis] ?? 1);
  return [...axes, ...(Object.keys(asked) as Feature[]).filter((feature) => asked[feature])];
}

/** The features of a run: those that its options ask for, and the axes that have several ranks. */
export function featuresOfRun(
  options: ResolvedOptions,
  { traits }: Pick<Strategy, 'traits'>,
  mesh: Mesh,
): ReadonlySet<Feature> {
  // One rank alone has all elements.
  const isWhole = traits.parameters === 'replicated';
  const asked = featuresOf(options).filter((feature) => !(feature === 'fsdp' && isWhole));
  return new Set([...asked, ...axesOf(mesh)]);
}

/** The axes that have several ranks. */
export function axesOf(mesh: Mesh): Feature[] {
  return axesWith((axis) => mesh.size(axis));
}

/** The strategy says whether the axis `fsdp` divides anything. */
function axesWith(sizeOf: (axis: MeshAxis) => number): Feature[] {
  return MESH_AXES.filter((axis) => axis !== 'fsdp' && sizeOf(axis) > 1);
}
