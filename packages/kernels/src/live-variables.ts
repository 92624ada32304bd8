import { engine, type Variable } from '@tensorflow/tfjs-core';

/** Whether `variable` was not freed. tfjs's `disposeVariables` frees without setting `isDisposed`; its registry forgets what it frees. */
export function isLive(variable: Variable): boolean {
  return !variable.isDisposed && registeredVariable(variable.name) === variable;
}

/** The variable that has the name now. */
export function registeredVariable(name: string): Variable | undefined {
  return engine().registeredVariables[name];
}
