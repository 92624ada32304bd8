import { requireTogether } from '#platform/requirements';
import { AccError, type Strategy } from '@acc/contract';
import type { Feature } from '../presets/composes.js';

interface LimitedRun {
  readonly strategy: Strategy;
  readonly features: ReadonlySet<Feature>;
}

/** Refuses calls that do not go with the features of the run. */
export class Limits {
  constructor(private readonly run: LimitedRun) {}

  /** Whether the strategy shards parameters: all ranks then run every model together. */
  get isSharded(): boolean {
    return this.run.strategy.traits.parameters === 'sharded';
  }

  has(feature: Feature): boolean {
    return this.run.features.has(feature);
  }

  /** @throws AccError with the code of the refusal, if the call does not go with the run. */
  require(call: Feature): void {
    requireTogether(this.run.features, call);
  }

  /** @throws AccError `ACC_STRATEGY_CANNOT` if steps cannot be recorded. */
  requireRecordable(): void {
    this.require('compile');
    const { name, traits } = this.run.strategy;
    if (traits.unrecordable === undefined) return;
    throw new AccError(
      'ACC_STRATEGY_CANNOT',
      `compile cannot record steps of the strategy '${name}': ${traits.unrecordable}.`,
      { help: 'Call the step without compile.' },
    );
  }
}
