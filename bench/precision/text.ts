import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from '@tensorflow/tfjs';
import type { Task } from './task.js';

/** Characters are ASCII codes. */
export const VOCABULARY = 128;
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The last tenth of the text is held back. */
const TRAINED_ON = 0.9;
/** The characters of the held-back text that are measured. */
const TEST_CHARACTERS = 65_536;

/** The pages of the documentation in one text, in the order of their paths. */
export function readPages(): string {
  const folder = join(ROOT, 'site', 'docs');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const pages = names.filter((name) => name.endsWith('.md')).sort();
  return pages.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
}

/** Next characters of the documentation, in sequences of `length`. */
export function characters(length: number): Task {
  const codes = Int32Array.from(Buffer.from(readPages(), 'utf8')).filter((code) => code < VOCABULARY);
  const border = Math.floor(codes.length * TRAINED_ON);
  const [train, rest] = [codes.subarray(0, border), codes.subarray(border)];
  const test = rest.subarray(0, Math.min(rest.length, TEST_CHARACTERS));
  return {
    draw: (count, random) => {
      const last = train.length - length - 1;
      const starts = Array.from({ length: count }, () => Math.floor(random() * last));
      return batchOf(train, starts, length);
    },
    testBatches: (size) => {
      const count = Math.floor((test.length - 1) / length);
      const starts = Array.from({ length: count }, (_, i) => i * length);
      return Array.from({ length: Math.ceil(count / size) }, (_, i) =>
        batchOf(test, starts.slice(i * size, (i + 1) * size), length),
      );
    },
    loss: (logits, labels) =>
      tf.losses.softmaxCrossEntropy(
        tf.oneHot(labels.toInt().flatten(), VOCABULARY),
        logits.reshape([-1, VOCABULARY]),
      ),
    right: (logits, labels) => tf.equal(tf.argMax(logits, -1), labels).sum(),
  };
}

/** Sequences that begin at `starts`. The label of a character is the next one. */
function batchOf(codes: Int32Array, starts: readonly number[], length: number) {
  const part = (shift: number) =>
    tf.tensor2d(
      starts.flatMap((start) => [...codes.subarray(start + shift, start + shift + length)]),
      [starts.length, length],
      'int32',
    );
  return { xs: part(0), ys: part(1) };
}
