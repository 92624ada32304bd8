import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { RunSet } from '../runs/run-set.js';

interface LoadedFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

/**
 * A file that the page shows, or that a person keeps: an image of a run, or the trace of a window. Undefined:
 * there is no such file, or it is another kind of one.
 */
export async function loadedFile(
  runs: RunSet,
  path: string,
  query: URLSearchParams,
): Promise<LoadedFile | undefined> {
  if (path !== '/api/image' && path !== '/api/trace') return undefined;
  const run = await runs.open(query.get('run') ?? '');
  if (!run) return undefined;
  if (path === '/api/image') return image(run.log.imageFolder, query.get('file') ?? '');
  const id = Number(query.get('id'));
  const body = await run.windows.perfetto(id).catch(() => undefined);
  const name = `${run.name.replace(/[^\w.-]/g, '-')}-${id}.pftrace`;
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${name}"`,
  };
  return body && { headers, body };
}

/** Only a picture from the folder of images: the log of a run may name other paths. */
async function image(folder: string, name: string): Promise<LoadedFile | undefined> {
  const body = await readFile(join(folder, basename(name))).catch(() => undefined);
  if (!body?.subarray(0, PNG.length).equals(PNG)) return undefined;
  return { headers: { 'Content-Type': 'image/png' }, body };
}
