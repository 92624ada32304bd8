import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { expect, it, onTestFinished, vi } from 'vitest';
import { requireOneTfjs, requireOurOptimizer } from './one-tfjs.js';

/** A folder with a copy of tfjs-core, from which the program seems to come. */
function programWithCopy(): string {
  const copy = join(mkdtempSync(join(tmpdir(), 'acc-copies-')), 'node_modules', '@tensorflow', 'tfjs-core');
  mkdirSync(copy, { recursive: true });
  writeFileSync(join(copy, 'package.json'), '{}');
  const [, program] = process.argv;
  process.argv[1] = join(copy, '..', '..', '..', 'train.mjs');
  onTestFinished(() => void (process.argv[1] = program!));
  return copy;
}

/** An optimizer as another copy of tfjs-core makes it: it has the methods, and another class. */
const foreign = { minimize: () => null, applyGradients: () => {}, computeGradients: () => ({}) };

it('one copy of tfjs, and optimizers of its own or of the program, are accepted', () => {
  requireOneTfjs();
  requireOurOptimizer(tf.train.adam());
  requireOurOptimizer(foreign);
});

it('an engine that another copy has made is refused with the folders of both', () => {
  const copy = programWithCopy();
  class Variable extends tf.Variable {}
  const makeVariable = vi.spyOn(tf.engine(), 'makeVariable');
  onTestFinished(() => makeVariable.mockRestore());
  makeVariable.mockImplementation((value) => new Variable(value, false, 'v', 0));
  const both = new RegExp(`${copy}\n.*[/\\\\]@tensorflow[/\\\\]tfjs-core`);
  const error = expect.objectContaining({ code: 'ACC_TFJS_COPIES', message: expect.stringMatching(both) });
  expect(requireOneTfjs).toThrow(error);
});

it('an optimizer of another copy is refused', () => {
  programWithCopy();
  const error = expect.objectContaining({ code: 'ACC_TFJS_COPIES' });
  expect(() => requireOurOptimizer(foreign)).toThrow(error);
});
