import { afterEach, expect, it, vi } from 'vitest';
import type { Variable } from '@tensorflow/tfjs-core';
import type { Collective, RankState, StrategyState } from '@acc/contract';
import { layoutOf, restoreStateOfShards, stateOfShards } from './local-state.js';

afterEach(() => void vi.restoreAllMocks());

/** A group as one of its ranks sees it. The others answer with these objects. */
function group(rank: number, others: Readonly<Record<number, unknown>>, broadcasts?: unknown): Collective {
  const size = Object.keys(others).length + 1;
  return {
    rank,
    size,
    allGatherObject: (own: unknown) => Array.from({ length: size }, (_, i) => (i === rank ? own : others[i])),
    broadcastObject: (own: unknown, from: number) => (from === rank ? own : broadcasts),
  } as Partial<Collective> as Collective;
}

const SAVED: RankState = { shared: { steps: 3 }, local: { error: 0.5 } };
const SQUARE = { shape: [4, 4] } as unknown as Variable;
const LAYOUT = layoutOf([SQUARE], new Map([[SQUARE, { placement: { kind: 'shard', dim: 1, times: 1 } }]]));
const NOTHING: RankState = { shared: {}, local: undefined };

/** The state of an inner strategy, and what it got. */
function inner(): { state: StrategyState; got: RankState[] } {
  const got: RankState[] = [];
  return { state: { get: () => SAVED, set: (state) => void got.push(state) }, got };
}

/** The state that the inner strategy gets from `state` on the first of two ranks along `tensor`. */
function restored(
  state: RankState,
  alike: Collective,
  others: Readonly<Record<number, unknown>> = { 1: true },
) {
  const { state: ofInner, got } = inner();
  const ranks = { tensor: group(0, others), alike };
  restoreStateOfShards(ofInner, state, { ...ranks, layout: LAYOUT, name: 'ddp' });
  return got;
}

const saved = (place: number, size: number, layout = LAYOUT) =>
  stateOfShards(inner().state, { rank: place, size }, layout);

it('a rank with the same pieces gets its state', () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  expect(restored(saved(0, 2), group(0, { 1: true }))).toEqual([SAVED]);
  expect(warn).not.toHaveBeenCalled();
});

it('a rank that is new shares that of the others with the same pieces', () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const { shared } = saved(0, 2);
  const onNew = restored({ shared, local: undefined }, group(1, { 0: true }, SAVED.shared));
  expect(onNew).toEqual([{ shared: SAVED.shared, local: undefined }]);
  expect(restored(saved(0, 2), group(0, { 1: false }))).toEqual([SAVED]);
  expect(warn).not.toHaveBeenCalled();
});

it.each([
  ['another size of the axis', saved(0, 4)],
  ['another place', saved(1, 2)],
  ['weights that are cut otherwise', saved(0, 2, layoutOf([SQUARE], new Map()))],
  ['whole weights', SAVED],
])('the state of %s is dropped on all ranks, with a warning', (_, state) => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  expect(restored(state, group(0, { 1: false }))).toEqual([NOTHING]);
  expect(warn).toHaveBeenCalledOnce();
  expect(warn.mock.calls[0]![0]).toContain('strategy ddp');
  // Another rank along the axis has shards that nobody has a state of.
  expect(restored(saved(0, 2), group(0, { 1: true }), { 1: false })).toEqual([NOTHING]);
});
