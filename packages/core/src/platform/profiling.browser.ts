import { notInBrowser } from '@acc/platform';
import type * as profiling from './profiling.js';

/** A page has no native operators to observe. */
export const Profiler = class Profiler {
  readonly plugin = { name: 'profile' };

  run(): never {
    throw notInBrowser('profile observes the operators of libtorch', 'Use tf.profile in the page.');
  }
} as unknown as (typeof profiling)['Profiler'];
