import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { backend, setBackend } from '@tensorflow/tfjs-core';
import { mendTfjsNode } from '@acc/tfjs-internals';
import type { TensorflowBackend } from '../backend.js';

const root = join(import.meta.dirname, '..', '..', '..', '..');

/**
 * The folder of a project with a working tfjs-node that uses this checkout's copy of tfjs.
 * `tests/provided-tfjs-node.ts` makes it before the tests.
 */
export function providedTfjsNode(): string {
  return join(root, 'node_modules', '.cache', 'acc-tfjs-node');
}

/** Loads tfjs-node, which computes on every supported Node.js then, and activates its backend. */
export async function activateTfjsNode(): Promise<TensorflowBackend> {
  const project = join(providedTfjsNode(), 'package.json');
  if (!existsSync(project)) throw new Error(`These tests need tfjs-node in ${providedTfjsNode()}.`);
  process.env['TF_CPP_MIN_LOG_LEVEL'] = '2';
  mendTfjsNode();
  createRequire(project)('@tensorflow/tfjs-node');
  await setBackend('tensorflow');
  return backend() as TensorflowBackend;
}
