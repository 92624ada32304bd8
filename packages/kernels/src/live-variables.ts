import { engine, type Variable } from '@tensorflow/tfjs-core';

/**
 * Whether `variable` was not disposed. tfjs's `disposeVariables` does not set `isDisposed`, but it
 * removes the variables from its registry.
 */
export function isLive(variable: Variable): boolean {
  return !variable.isDisposed && registeredVariable(variable.name) === variable;
}

/** The variable registered under this name now. */
export function registeredVariable(name: string): Variable | undefined {
  return engine().registeredVariables[name];
}
