import { engine, type Variable } from '@tensorflow/tfjs-core';

/** The variables that tfjs lists for those that it does not. */
const listed = new WeakMap<Variable, Variable>();

/** Makes `own`, which tfjs does not list, live as long as `variable`, of which it holds the values. */
export function livesWith(own: Variable, variable: Variable): void {
  listed.set(own, variable);
}

/**
 * Whether `variable` was not disposed. tfjs's `disposeVariables` does not set `isDisposed`, but it
 * removes the variables from its registry.
 */
export function isLive(variable: Variable): boolean {
  if (variable.isDisposed) return false;
  const other = listed.get(variable);
  return registeredVariable(variable.name) === variable || (other !== undefined && isLive(other));
}

/** The variable registered under this name now. */
export function registeredVariable(name: string): Variable | undefined {
  return engine().registeredVariables[name];
}
