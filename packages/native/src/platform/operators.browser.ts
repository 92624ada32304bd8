import { loadAddon } from '#platform/libtorch';
import type * as operators from './operators.js';

type Operators = typeof operators;

/** Operators may be named at the start of a module. Calling one is an error. */
const refuse = () => loadAddon() as never;

/* @__NO_SIDE_EFFECTS__ */
export function operator(_name: string): ReturnType<Operators['operator']> {
  return refuse;
}

/* @__NO_SIDE_EFFECTS__ */
export function operatorInPlace(_name: string): ReturnType<Operators['operatorInPlace']> {
  return refuse;
}

/* @__NO_SIDE_EFFECTS__ */
export function operatorWithResults(_name: string): ReturnType<Operators['operatorWithResults']> {
  return refuse;
}

export const tensorFrom: Operators['tensorFrom'] = refuse;
export const tensorOnHost: Operators['tensorOnHost'] = refuse;
