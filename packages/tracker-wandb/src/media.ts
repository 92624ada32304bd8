import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TrackedHistogram, TrackedImage, TrackedTable } from '@acc/contract';

/** A value of a row that is stored in a file. */
export interface Media {
  /** The path within the run's `files` folder. */
  readonly path: string;
  readonly json: string;
}

export function storeImage(
  filesDir: string,
  key: string,
  step: number,
  { width, height, png }: TrackedImage,
): Media {
  const stored = store(filesDir, { folder: 'media/images', key, step, ending: 'png' }, png);
  const value = { _type: 'image-file', ...stored, width, height, format: 'png' };
  return { path: stored.path, json: JSON.stringify(value) };
}

export function storeTable(
  filesDir: string,
  key: string,
  step: number,
  { columns, rows }: TrackedTable,
): Media {
  // JSON has no NaN, so NaN and infinities become strings.
  const data = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' && !Number.isFinite(cell) ? String(cell) : cell)),
  );
  const content = Buffer.from(JSON.stringify({ columns, data }));
  const stored = store(filesDir, { folder: 'media/table', key, step, ending: 'table.json' }, content);
  const value = { _type: 'table-file', ...stored, ncols: columns.length, nrows: rows.length };
  return { path: stored.path, json: JSON.stringify(value) };
}

export function histogramJson({ edges, counts }: TrackedHistogram): string {
  return JSON.stringify({ _type: 'histogram', values: counts, bins: edges });
}

interface Place {
  readonly folder: string;
  readonly key: string;
  readonly step: number;
  readonly ending: string;
}

/** Writes a file whose name contains the hash of its content. */
function store(filesDir: string, { folder, key, step, ending }: Place, content: Uint8Array) {
  const sha256 = createHash('sha256').update(content).digest('hex');
  const name = key
    .split('/')
    .filter((part) => part !== '..')
    .join('/');
  const path = `${folder}/${name}_${step}_${sha256.slice(0, 20)}.${ending}`;
  const target = join(filesDir, path);
  mkdirSync(dirname(target), { recursive: true });
  try {
    writeFileSync(target, content);
  } catch (error) {
    rmSync(target, { force: true });
    throw error;
  }
  return { path, sha256, size: content.length };
}
