import { AccError, type Collective, type Strategy } from '@acc/contract';

interface LimitedRun {
  readonly strategy: Strategy;
  readonly collective: Pick<Collective, 'size'>;
  readonly dataRanks: Pick<Collective, 'size'>;
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
    if (traits.unrecordable === undefined) return;
    throw new AccError(
      'ACC_STRATEGY_CANNOT',
      `compile cannot record steps of the strategy '${name}': ${traits.unrecordable}.`,
      { help: 'Call the step without compile.' },
    );
  }

  /**
   * @throws AccError `ACC_STRATEGY_CANNOT` for `what`, which counts on every rank having rows of its
   * own, if ranks of the mesh share rows.
   */
  requireOwnRows(what: string): void {
    const { dataRanks, collective } = this.run;
    if (dataRanks.size === collective.size) return;
    throw new AccError(
      'ACC_STRATEGY_CANNOT',
      `${what} needs ranks that have rows of their own. In this mesh ${collective.size} ranks have the rows of ${dataRanks.size}.`,
      { help: 'Leave it out, or use a mesh without axes whose ranks share rows.' },
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
