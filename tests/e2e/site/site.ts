import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { preview } from 'vite';

export const root = join(import.meta.dirname, '..', '..', '..');

/** The documentation site, built and served. */
export interface Site extends AsyncDisposable {
  /** Ends with a slash. */
  readonly url: string;
}

/** Builds the site as `npm run site` does, which also checks links and anchors, and serves it. */
export async function serveSite(): Promise<Site> {
  const building = spawn('npm', ['run', 'site'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors, [exitCode]] = await Promise.all([
    text(building.stdout),
    text(building.stderr),
    once(building, 'close') as Promise<[number]>,
  ]);
  if (exitCode !== 0) throw new Error(`npm run site ended with ${exitCode}.\n${output}\n${errors}`);
  const server = await preview({
    root: join(root, 'site'),
    configFile: false,
    appType: 'mpa',
    logLevel: 'silent',
    preview: { port: 0, host: '127.0.0.1' },
  });
  return {
    url: server.resolvedUrls!.local[0]!,
    [Symbol.asyncDispose]: () => server.close(),
  };
}
