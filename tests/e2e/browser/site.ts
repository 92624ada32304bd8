import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, preview } from 'vite';

/** A built page that is served. */
export interface Site extends AsyncDisposable {
  readonly url: string;
}

/** Builds a page with Vite's defaults, and serves it at a port that the system chooses. */
export async function serve(root: string): Promise<Site> {
  const outDir = await mkdtemp(join(tmpdir(), 'acc-site-'));
  await build({
    root,
    logLevel: 'error',
    build: { outDir, emptyOutDir: true, chunkSizeWarningLimit: 10_000 },
  });
  const server = await preview({
    root,
    logLevel: 'silent',
    build: { outDir },
    preview: { port: 0, host: '127.0.0.1' },
  });
  return {
    url: server.resolvedUrls!.local[0]!,
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(outDir, { recursive: true });
    },
  };
}
