import type { Strategy, StrategyContext } from '@acc/contract';

/** A strategy under test on this rank. */
export interface StrategySubject {
  /** A new strategy that is not attached. Each case makes its own. */
  create(): Strategy;
  /** See `strategyContext`. */
  readonly context: StrategyContext;
}

/** A rule for every strategy. All ranks run it. It throws if the rule is broken. */
export interface StrategyCase {
  readonly name: string;
  run(subject: StrategySubject): void;
}
