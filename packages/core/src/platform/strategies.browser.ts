import { notInBrowser } from '@acc/platform';
import { singleStrategy } from '../single-strategy/single-strategy.js';
import type * as strategies from './strategies.js';

type Strategies = typeof strategies;

/**
 * On the one process of a page there is nothing to reduce and nothing to shard, so the code for it
 * is left out. Options by which one process would train otherwise are refused before.
 */
export const ddp: Strategies['ddp'] = singleStrategy;
export const expertParallel: Strategies['expertParallel'] = (others) => others;
export const fsdp: Strategies['fsdp'] = singleStrategy;
/** Never called with options: they are refused. */
export const resolveDeterministicOptions = (() => ({})) as never as Strategies['resolveDeterministicOptions'];
export const isForOne: Strategies['isForOne'] = () => false;
export const precisionOf: Strategies['precisionOf'] = () => undefined;

export const Deterministic = class Deterministic {
  constructor() {
    throw notInBrowser('The option deterministic needs several processes', 'Leave it out.');
  }
} as unknown as Strategies['Deterministic'];
