import { notInBrowser } from '@acc/platform';
import type * as pipelining from './pipelining.js';

type Pipelining = typeof pipelining;

/** A page is one process, and has no other rank for a stage. */
export const Pipelines = class Pipelines {
  readonly isUsedByFit = false;

  stepOf(): never {
    throw notInBrowser('pipelined needs several processes', 'Use optimizer.minimize.');
  }
} as unknown as Pipelining['Pipelines'];

/** Never called: a page has no mesh. */
export const staged = undefined as never as Pipelining['staged'];
