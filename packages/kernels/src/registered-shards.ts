import { engine, type Variable } from '@tensorflow/tfjs-core';

/** A variable, and the one that has this rank's elements of it. */
export interface RegisteredShard {
  readonly variable: Variable;
  readonly own: Variable;
}

/**
 * Runs `fn` while tfjs knows this rank's elements under the names of their variables. Optimizers
 * find variables by name, so they update the elements, and keep state of their size.
 */
export function withShardsRegistered<T>(shards: readonly RegisteredShard[], fn: () => T): T {
  const { registeredVariables } = engine();
  const before = shards.map(({ own }) => own.name);
  for (const { own, variable } of shards) register(own, variable.name);
  try {
    return fn();
  } finally {
    shards.forEach(({ own, variable }, i) => {
      (own as { name: string }).name = before[i]!;
      registeredVariables[variable.name] = variable;
    });
  }

  function register(own: Variable, name: string): void {
    (own as { name: string }).name = name;
    registeredVariables[name] = own;
  }
}
