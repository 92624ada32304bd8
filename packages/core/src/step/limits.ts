import { AccError, type Strategy } from '@acc/contract';

interface LimitedRun {
  readonly strategy: Strategy;
  /** Whether weights must not depend on the number of ranks. */
  readonly isDeterministic: boolean;
}

/** Refuses what the strategy or the option `deterministic` rules out. */
export class Limits {
  constructor(private readonly run: LimitedRun) {}

  /**
   * @throws AccError `ACC_DETERMINISTIC_UNSUPPORTED` for `what`, which makes weights depend on the
   * number of ranks, if the run is deterministic.
   */
  requireNotDeterministic(what: string): void {
    if (!this.run.isDeterministic) return;
    throw new AccError('ACC_DETERMINISTIC_UNSUPPORTED', `deterministic does not support ${what}.`, {
      help: 'The weights would depend on the number of ranks. Remove one of the two.',
    });
  }

  /** Whether the strategy shards parameters: all ranks then run every model together. */
  get isSharded(): boolean {
    return this.run.strategy.traits.parameters === 'sharded';
  }

  /** @throws AccError `ACC_STRATEGY_CANNOT` if steps of the strategy cannot be recorded. */
  requireRecordable(): void {
    const { name, traits } = this.run.strategy;
    if (traits.isRecordable !== false) return;
    throw new AccError(
      'ACC_STRATEGY_CANNOT',
      `compile records where parameters are in memory. The strategy '${name}' frees and replaces their memory in each step.`,
      { help: 'Call the step without compile, or use a strategy that replicates parameters.' },
    );
  }

  /** @throws AccError `ACC_STRATEGY_CANNOT` for `what` if the strategy shards parameters. */
  requireReplicated(what: string): void {
    const { name, traits } = this.run.strategy;
    if (traits.parameters === 'replicated') return;
    throw new AccError(
      'ACC_STRATEGY_CANNOT',
      `${what} needs the parameters, their gradients and the optimizer's state on every rank. The strategy '${name}' divides them over ranks.`,
      { help: 'Use a strategy that replicates parameters.' },
    );
  }
}
