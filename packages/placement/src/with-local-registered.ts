import { engine, type Variable } from '@tensorflow/tfjs-core';
import { listedFor } from '@acc/kernels';

/** A variable of a program, and this rank's elements of it. */
interface LocalVariable {
  readonly variable: Variable;
  readonly local: Variable;
}

/**
 * Runs `fn` while tfjs knows this rank's elements under the names of their variables. Optimizers
 * find variables by name, so they update the elements, and keep state of their size.
 */
export function withLocalRegistered<T>(variables: Iterable<LocalVariable>, fn: () => T): T {
  const { registeredVariables } = engine();
  const before = Array.from(variables, ({ local, variable }) => {
    const { name } = listedFor(variable);
    return { local, localName: local.name, name, registered: registeredVariables[name]! };
  });
  for (const { local, name } of before) register(local, name);
  try {
    return fn();
  } finally {
    for (const { local, localName, name, registered } of before) {
      (local as { name: string }).name = localName;
      registeredVariables[name] = registered;
    }
  }

  function register(local: Variable, name: string): void {
    (local as { name: string }).name = name;
    registeredVariables[name] = local;
  }
}
