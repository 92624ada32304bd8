import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { backend, setBackend } from '@tensorflow/tfjs-core';
import type { TensorflowBackend } from '../backend.js';

/** The folder of a project with a working tfjs-node that uses this repository's copy of tfjs. */
export function providedTfjsNode(): string {
  return join(homedir(), '.cache/acc/testing/tfjs-node');
}

/** Loads tfjs-node and activates its backend. */
export async function activateTfjsNode(): Promise<TensorflowBackend> {
  const project = join(providedTfjsNode(), 'package.json');
  if (!existsSync(project)) throw new Error(`These tests need tfjs-node in ${providedTfjsNode()}.`);
  process.env['TF_CPP_MIN_LOG_LEVEL'] = '2';
  createRequire(project)('@tensorflow/tfjs-node');
  await setBackend('tensorflow');
  return backend() as TensorflowBackend;
}
