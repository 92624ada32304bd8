import { SingleCollective } from '@acc/collective';
import type * as severalRanks from './several-ranks.js';

type SeveralRanks = typeof severalRanks;

/**
 * A page is one process. A mesh with an axis of several ranks is refused for its size, and the
 * options that these functions refuse are not available.
 */
export const ranksPerHost: SeveralRanks['ranksPerHost'] = () => 1;
export const warnOfAxesBetweenHosts: SeveralRanks['warnOfAxesBetweenHosts'] = () => {};
/** Never called: a page has no other rank. */
export const shareRandomStates: SeveralRanks['shareRandomStates'] = () => {};
export const UnpreparedSteps = (() => {}) as never as SeveralRanks['UnpreparedSteps'];
/** Never called: a page has all data. */
export const unpreparedData = (() => {}) as never as SeveralRanks['unpreparedData'];
/** A page computes for itself. */
export const forwardRanks: SeveralRanks['forwardRanks'] = () => undefined;
export const requireSameSettings: SeveralRanks['requireSameSettings'] = () => {};
export const collectiveOf: SeveralRanks['collectiveOf'] = () => Promise.resolve(new SingleCollective());
/** The keys of one rank are the same. */
export const SameKeys = class {
  require(): void {}
} as never as SeveralRanks['SameKeys'];
/** Never called: the option `collective` is refused. */
export const placeIn = (() => {}) as never as SeveralRanks['placeIn'];
/** Never called: one rank validates all rows. */
export const shardValidation: SeveralRanks['shardValidation'] = () => () => {};
/** One rank has all rows. */
export const compareRows: SeveralRanks['compareRows'] = () => () => {};
export const examineMetrics: SeveralRanks['examineMetrics'] = () => (_, step) => step;
/** A page has one rank, which saves all of its buffers in the model. */
export const noteBuffers: SeveralRanks['noteBuffers'] = () => {};
export const buffersOfRank: SeveralRanks['buffersOfRank'] = () => ({});
export const differingBuffers: SeveralRanks['differingBuffers'] = ({ tensors }) => ({ buffers: {}, tensors });
export const storedBuffers: SeveralRanks['storedBuffers'] = () => new Map();
