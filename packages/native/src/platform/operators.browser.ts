import { loadAddon } from '#platform/libtorch';
import type * as operators from './operators.js';

type Operators = typeof operators;

/** Operators may be named at the start of a module. Calling one is an error. */
/* @__NO_SIDE_EFFECTS__ */
function refused(): never {
  return (() => loadAddon()) as never;
}

export const operator: Operators['operator'] = refused;
export const operatorInPlace: Operators['operatorInPlace'] = refused;
export const operatorWithResults: Operators['operatorWithResults'] = refused;
export const tensorFrom: Operators['tensorFrom'] = () => loadAddon() as never;
