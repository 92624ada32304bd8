import { build } from 'esbuild';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { readDigits } from './read-digits.js';

export interface PageServer {
  readonly origin: string;
  /** The size of the script in bytes, tfjs included. */
  readonly scriptBytes: number;
  close(): void;
}

/** Bundles a script for pages as a user does it: esbuild without any configuration. */
export async function bundle(name: string, external: readonly string[] = []): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(name, import.meta.url))],
    bundle: true,
    minify: true,
    format: 'esm',
    external: [...external],
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0]!.contents;
}

/** Serves a page with the bundled script, and `count` digits of each of the classes in an address. */
export async function servePage(script: Uint8Array, count: number): Promise<PageServer> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://any');
    const digits = () => readDigits(searchParams.get('classes')!.split(',').map(Number), 0, count);
    const answer = (type: string, body: Uint8Array | string) =>
      response.writeHead(200, { 'Content-Type': type }).end(body);
    if (pathname === '/') answer('text/html', '<body><script type="module" src="/page.js"></script></body>');
    else if (pathname === '/page.js') answer('text/javascript', script);
    else if (pathname === '/labels') answer('application/json', JSON.stringify(digits().labels));
    else if (pathname === '/images')
      answer('application/octet-stream', new Uint8Array(digits().images.buffer));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    scriptBytes: script.length,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
