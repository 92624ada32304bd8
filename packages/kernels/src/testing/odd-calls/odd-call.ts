import * as tf from '@tensorflow/tfjs-core';
import { Blueprint, Draw, type Makers } from './draw.js';
import { ELEMENTS } from './elements.js';
import { PLACES } from './places.js';
import { WINDOWS } from './windows.js';

// Calls of tfjs's functions with arguments that programs seldom pass: negative, fractional, too
// large or missing numbers, sizes of 0, and shapes that do not fit.

/** A call whose tensors are made on the backend on which it runs. */
export interface OddCall {
  /** The function and its arguments, for messages. */
  readonly text: string;
  /** Makes new tensors, and calls the function. */
  readonly run: () => tf.Tensor[];
}

const MAKERS: Makers = { ...ELEMENTS, ...PLACES, ...WINDOWS };

/** The names of the functions that are called. */
export const ODD_FUNCTIONS = Object.keys(MAKERS);

/** A call of the function `name`; the same for the same seed. */
export function oddCall(name: string, seed: number): OddCall {
  const [run, make] = MAKERS[name]!;
  const args = make(new Draw(seed));
  return {
    text: `${name}(${args.map(textOf).join(', ')})`,
    run: () => {
      const result = run(...(args.map(made) as never[]));
      return result instanceof tf.Tensor ? [result] : (Object.values(result).flat() as tf.Tensor[]);
    },
  };
}

function made(value: unknown): unknown {
  if (value instanceof Blueprint) return value.make();
  return Array.isArray(value) ? value.map(made) : value;
}

function textOf(value: unknown): string {
  if (value instanceof Blueprint) return value.toString();
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
