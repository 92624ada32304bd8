import type { Variable } from '@tensorflow/tfjs-core';
import { hashOf, type Collective, type RankState, type StateTree, type StrategyState } from '@acc/contract';
import type { LocalVariable } from './local-variable.js';

/** The state of the ranks along the axis `tensor`, which have other shards each. */
interface StateOfShards {
  /** The key of checkpoints. `ddp` knows such a state by it. */
  readonly pieces: {
    /** The size of the axis. */
    readonly ranks: number;
    /** See {@link layoutOf}. */
    readonly layout: number;
  };
}

interface LocalState {
  /** The place on the axis. */
  readonly place: number;
  readonly inner: RankState;
}

/** Groups of ranks that agree on a state. */
export interface StateRanks {
  /** The ranks along the axis `tensor`. */
  readonly tensor: Collective;
  /** The ranks with the same shards. */
  readonly alike: Collective;
}

/** A hash of the shapes of all variables, in order, and of how each is cut. */
export function layoutOf(
  variables: Iterable<Variable>,
  cuts: ReadonlyMap<Variable, Pick<LocalVariable, 'placement'>>,
): number {
  const layouts = Array.from(variables, (variable) => {
    const placement = cuts.get(variable)?.placement;
    return [variable.shape, placement ? { dim: placement.dim, times: placement.times } : null];
  });
  return hashOf(JSON.stringify(layouts));
}

/**
 * The state of the inner strategy. It is about this rank's shards, so ranks along the axis `tensor` do
 * not share it.
 */
export function stateOfShards(
  inner: StrategyState,
  { rank: place, size }: Pick<Collective, 'rank' | 'size'>,
  layout: number,
): RankState {
  const shared: StateOfShards = { pieces: { ranks: size, layout } };
  const local: LocalState = { place, inner: inner.get() };
  return { shared: { ...shared }, local: { ...local } as unknown as StateTree };
}

/**
 * Restores the state of {@link stateOfShards}. Every rank calls it. If the state is one of other shards,
 * the inner strategy begins anew on all ranks, and rank 0 prints a warning.
 */
export function restoreStateOfShards(
  inner: StrategyState,
  state: RankState,
  { tensor, alike, layout, name }: StateRanks & { readonly layout: number; readonly name: string },
): void {
  const own = stateHere(state, tensor, layout);
  // Ranks that are new have none. They share that of the others with the same shards.
  const haveOne = alike.allGatherObject(own !== undefined);
  const source = haveOne.indexOf(true);
  const isComplete = tensor.allGatherObject(source >= 0).every(Boolean);
  if (!isComplete) {
    if (tensor.rank === 0 && alike.rank === 0) warnOfOtherShards(name);
    inner.set({ shared: {}, local: undefined });
    return;
  }
  const shared = haveOne.every(Boolean) ? own!.shared : alike.broadcastObject(own?.shared ?? null, source);
  inner.set({ shared, local: own?.local });
}

/** Undefined if the state is one of other shards than this rank's. */
function stateHere(
  { shared, local }: RankState,
  { rank, size }: Pick<Collective, 'rank' | 'size'>,
  layout: number,
): RankState | undefined {
  const { pieces } = (shared ?? {}) as unknown as Partial<StateOfShards>;
  const { place, inner } = (local ?? {}) as unknown as Partial<LocalState>;
  const isSame = pieces?.ranks === size && pieces.layout === layout && place === rank;
  return isSame ? inner : undefined;
}

function warnOfOtherShards(name: string): void {
  console.warn(
    `acc: the checkpoint comes from a mesh with another axis tensor or another plan, so it has no state of the strategy ${name} for these shards of weights. ` +
      'Its communication hook begins anew, without the errors of compression that were to be added to the next gradients.',
  );
}
