import { AccError, type Strategy } from '@acc/contract';

/**
 * @throws AccError `ACC_DETERMINISTIC_UNSUPPORTED` for `what`, which makes weights depend on the
 * number of ranks.
 */
export function refuseDeterministic(what: string): never {
  throw new AccError('ACC_DETERMINISTIC_UNSUPPORTED', `deterministic does not go with ${what}.`, {
    help: 'Weights would depend on how many ranks there are. Do without it, or leave deterministic out.',
  });
}

/** @throws AccError `ACC_STRATEGY_CANNOT` for `what` if the strategy shards parameters. */
export function requireReplicated(what: string, { name, traits }: Strategy): void {
  if (traits.parameters === 'replicated') return;
  throw new AccError(
    'ACC_STRATEGY_CANNOT',
    `${what} needs whole parameters on every rank; the strategy '${name}' shards them.`,
    { help: 'Use a strategy that replicates parameters.' },
  );
}
