import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { venv } from '../trackers/python/venv.js';

const run = promisify(execFile);

/** The output of `write_formats.py`. */
export interface Written {
  readonly tfrecord: readonly {
    readonly id: number;
    readonly x: number[];
    readonly lengths: number[];
    readonly text: string;
    readonly words: string[];
    readonly pixels: number[];
  }[];
  readonly webdataset: readonly {
    readonly key: string;
    readonly array: number[][];
    readonly pixels: number[][][];
  }[];
  readonly csv: readonly [number, string, number, number, boolean][];
  readonly jsonl: readonly unknown[];
  readonly tokens: readonly number[][];
}

/** Writes files of each format with TensorFlow, webdataset, tokenizers and Python's own csv and json. */
export async function writeFormats(folder: string): Promise<Written> {
  const python = await venv('formats');
  await run(python.bin('python'), [join(import.meta.dirname, 'write_formats.py'), folder]);
  return JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8')) as Written;
}
