import type { Operand, ProgramBuilder } from './fused-program.js';

// The steps of cpp/engine/fused/gelu.cpp, so that the bits are the same. Numbers are rounded to float32,
// as there.

const CUBIC = Math.fround(0.044715);
const THREE_CUBIC = Math.fround(3 * 0.044715);
const ROOT_OF_TWO_BY_PI = Math.fround(Math.sqrt(2 / Math.PI));

/** The tanh form of GELU. */
export function gelu(program: ProgramBuilder, [x]: readonly Operand[]): Operand {
  const { tanh } = tanhOf(program, x!);
  return program.step('mul', times(program, x!, 0.5), onePlus(program, tanh));
}

/** The gradient of {@link gelu}, from `dy` and `x`. */
export function geluBackward(program: ProgramBuilder, [dy, x]: readonly Operand[]): Operand {
  const { tanh, square } = tanhOf(program, x!);
  const left = times(program, onePlus(program, tanh), 0.5);
  const ofTanh = program.step('sub', program.constant(1), program.step('mul', tanh, tanh));
  const ofInner = times(program, onePlus(program, times(program, square, THREE_CUBIC)), ROOT_OF_TWO_BY_PI);
  const right = program.step('mul', times(program, x!, 0.5), program.step('mul', ofTanh, ofInner));
  return program.step('mul', dy!, program.step('add', left, right));
}

function tanhOf(program: ProgramBuilder, x: Operand): { readonly tanh: Operand; readonly square: Operand } {
  const square = program.step('mul', x, x);
  const cubic = times(program, program.step('mul', square, x), CUBIC);
  const inner = times(program, program.step('add', cubic, x), ROOT_OF_TWO_BY_PI);
  return { tanh: program.step('tanh', inner), square };
}

const onePlus = (program: ProgramBuilder, x: Operand): Operand => program.step('add', x, program.constant(1));

const times = (program: ProgramBuilder, x: Operand, number: number): Operand =>
  program.step('mul', x, program.constant(number));
