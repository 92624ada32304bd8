// A mirror of npm's registry on this machine, which also has the packages of this checkout.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { poll } from '@acc/contract';
import { requireLibtorch } from '@acc/native';
import { packedManifestOf, publishedFolders } from '../../scripts/release/published.mjs';
import { pack, packWorkspace, run, stageWorkspace } from '../e2e/trackers/packing.js';
import { installOnce, testCache } from '../installed-once.js';

const root = join(import.meta.dirname, '..', '..');
const newFolder = (name: string) => mkdtempSync(join(tmpdir(), name));

/** verdaccio needs Node.js 22 or newer. */
const NODE = `node-${process.platform}-${process.arch}`;

/**
 * The programs of the tests, and the mirror. It asks for a tag of node-fetch, `cjs`, that mirrors may
 * lack.
 */
const PROGRAMS = {
  dependencies: {
    verdaccio: '6.10.4',
    pnpm: '12.21.0',
    '@yarnpkg/cli-dist': '4.18.1',
    bun: '1.4.5',
    deno: '2.9.6',
    [NODE]: '24.21.0',
  },
  overrides: { 'node-fetch': '2.6.7' },
};

export type InstalledProgram = 'verdaccio' | 'pnpm' | 'yarn' | 'bun' | 'deno';

/** The folder of the programs, which npm installs once on a machine. */
async function programs(): Promise<string> {
  const manifest = JSON.stringify({ private: true, ...PROGRAMS });
  const hash = createHash('sha256').update(manifest).digest('hex').slice(0, 8);
  const folder = join(testCache(), 'test-projects', `installers-${hash}`);
  await installOnce(folder, async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), manifest);
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock'], {
      cwd: folder,
    });
  });
  return join(folder, 'node_modules', '.bin');
}

export interface Mirror extends AsyncDisposable {
  readonly url: string;
  /** Node.js 24. */
  readonly node: string;
  /** The path of a program. */
  program(name: InstalledProgram): string;
}

/** Starts the mirror, and publishes the packages of this checkout there. */
export async function startMirror(): Promise<Mirror> {
  const bin = await programs();
  const node = join(bin, '..', NODE, 'bin', 'node');
  const folder = newFolder('acc-mirror-');
  const upstream = (await run('npm', ['config', 'get', 'registry'], root)).trim();
  writeFileSync(join(folder, 'config.yaml'), configOf(folder, upstream));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const server = spawn(
    node,
    [join(bin, 'verdaccio'), '--config', join(folder, 'config.yaml'), '--listen', `127.0.0.1:${port}`],
    { stdio: 'ignore' },
  );
  const isUp = async () => (await fetch(`${url}-/ping`).catch(() => undefined))?.ok || undefined;
  if (!(await poll(isUp, { timeoutMs: 60_000 }))) throw new Error('The mirror does not answer.');
  await publishAll(folder, url);
  return {
    url,
    node,
    program: (name) => join(bin, name),
    [Symbol.asyncDispose]: () => ended(server),
  };
}

const configOf = (folder: string, upstream: string) => `
storage: ${join(folder, 'storage')}
uplinks: { npm: { url: '${upstream}', timeout: 120s, maxage: 60m } }
packages:
  '@acc/*': { access: $all, publish: $anonymous }
  '**': { access: $all, proxy: npm }
log: { type: stdout, level: error }
`;

async function publishAll(folder: string, url: string): Promise<void> {
  const tarballs = await packAll(folder);
  const npmrc = join(folder, 'npmrc');
  writeFileSync(npmrc, `registry=${url}\n//${new URL(url).host}/:_authToken=anybody\n`);
  for (const tarball of tarballs) {
    const args = ['publish', tarball, '--tag', 'latest', '--provenance=false', '--userconfig', npmrc];
    await run('npm', [...args, '--registry', url], folder);
  }
}

/** The packages as they are published, with the addon that setup built. */
async function packAll(target: string): Promise<string[]> {
  const line = requireLibtorch().version.split('.').slice(0, 2).join('.');
  const out = newFolder('acc-native-packages-');
  const scripts = join(root, 'scripts', 'native-packages');
  await run(process.execPath, [join(scripts, 'build.mjs'), '--torch', line, '--out', out], root);
  const native = join(await stageWorkspace(['native']), 'native');
  await run(process.execPath, [join(scripts, 'add-to-manifest.mjs'), '--from', out], native);
  const others = publishedFolders.filter(
    (folder) => folder !== 'native' && packedManifestOf(folder).name.startsWith('@acc/'),
  );
  const platforms = readdirSync(out).map((name) => join(out, name));
  return [...(await packWorkspace(others, target)), ...(await pack([native, ...platforms], target))];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = once(child, 'exit');
  child.kill();
  await end;
}

/** A proxy on this machine that counts the requests that it passes on. */
export async function startProxy(): Promise<AsyncDisposable & { readonly url: string; passed(): number }> {
  let count = 0;
  const server = createServer((asked, answer) => {
    count++;
    const { method, headers } = asked;
    const onward = request(asked.url!, { method, headers }, (response) => {
      answer.writeHead(response.statusCode!, response.headers);
      response.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    asked.pipe(onward);
  });
  server.on('connect', ({ url }, socket) => {
    count++;
    const [host, port] = url!.split(':') as [string, string];
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.pipe(socket);
      socket.pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed: () => count,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Packs a libtorch as PyTorch's wheels have it, without compression.
 *
 * @returns The SHA-256 of the archive.
 */
export async function zipOf(libtorch: string, archive: string): Promise<string> {
  await run('python3', ['-c', ZIP, libtorch, archive], root);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(archive)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

const ZIP = `
import base64, hashlib, os, sys, zipfile
root, target = sys.argv[1:]
record = []
with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            inside = os.path.join("torch", os.path.relpath(path, root))
            archive.write(path, inside)
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
            text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            record.append(f"{inside},sha256={text},{os.path.getsize(path)}")
    archive.writestr("torch-0.dist-info/RECORD", "\\n".join(record))
`;
