import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** Processes that fetch libtorch, build for it and load it, with the built @acc/native. */

const root = join(import.meta.dirname, '..', '..');
const extension = process.platform === 'darwin' ? 'dylib' : 'so';

interface Report {
  /** The result of the program, or the error that it threw. */
  readonly value?: unknown;
  readonly code?: string;
  readonly message?: string;
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'acc-native-setup-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/**
 * A program that evaluates `expression` with @acc/native as `native`, and prints a {@link Report}.
 */
const program = (expression: string) => `
  const native = await import('@acc/native');
  const report = await (async () => ({ value: await (${expression}) }))().catch(({ code, message }) => ({ code, message }));
  console.log(JSON.stringify(report));
`;

function evaluate(expression: string, env: Record<string, string> = {}): Promise<Report> {
  const args = ['--input-type=module', '-e', program(expression)];
  const options = { cwd: root, env: { ...process.env, ...env }, maxBuffer: 2 ** 24 };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stderr}`));
      else resolve(JSON.parse(stdout) as Report);
    });
  });
}

/** A libtorch archive whose library does not compress, so its download takes a while. */
function writeArchive(): { path: string; content: Buffer; sha256: string } {
  const path = join(folder, 'libtorch.zip');
  const script = `
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    z.writestr("libtorch/lib/libtorch_cpu.${extension}", os.urandom(4_000_000))
    z.writestr("libtorch/lib/libc10.${extension}", "base")
    z.writestr("libtorch/include/torch/script.h", "// a header")
    z.writestr("libtorch/build-version", "2.12.0+cpu")
`;
  execFileSync('python3', ['-c', script, path]);
  const content = readFileSync(path);
  return { path, content, sha256: createHash('sha256').update(content).digest('hex') };
}

describe('installing libtorch', () => {
  it('interrupted by Ctrl-C never counts as complete, and is resumed', async () => {
    const { content, sha256 } = writeArchive();
    const half = content.length / 2;
    const ranges: (string | undefined)[] = [];
    let halfSent = () => {};
    const whenHalfSent = new Promise<void>((resolve) => (halfSent = resolve));
    const server = createServer(({ headers }, response) => {
      ranges.push(headers.range);
      const start = Number(/bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
      const range = headers.range && {
        'content-range': `bytes ${start}-${content.length - 1}/${content.length}`,
      };
      response.writeHead(range ? 206 : 200, { 'content-length': content.length - start, ...range });
      if (ranges.length > 1) response.end(content.subarray(start));
      else response.write(content.subarray(0, half), halfSent);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const from = `http://127.0.0.1:${(server.address() as AddressInfo).port}/libtorch.zip`;
    const install = `native.installLibtorch(${JSON.stringify({ from, sha256 })})`;
    const env = { ACC_CACHE_DIR: join(folder, 'cache') };

    const child = spawn(process.execPath, ['--input-type=module', '-e', program(install)], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.on('close', (_, signal) => resolve(signal)));
    await whenHalfSent;
    const partial = join(folder, 'cache', 'downloads');
    await expect.poll(() => readdirSync(partial).length, { timeout: 240_000 }).toBe(1);
    child.kill('SIGINT');
    expect(await ended).toBe('SIGINT');
    const { value: left } = await evaluate('native.describeSearch().candidates.at(-1).outcome', env);
    expect(left).toBe('absent');

    const { value } = await evaluate(install, env);
    expect(value).toMatchObject({ version: '2.12.0', variant: 'cpu', origin: 'cache' });
    expect(readdirSync(join(folder, 'cache', 'libtorch'))).toEqual(['2.12.0-cpu']);
    expect(readdirSync(partial)).toEqual([]);
    expect(ranges).toHaveLength(2);
    server.closeAllConnections();
    server.close();
  });

  it('by two processes at once ends with one complete libtorch', async () => {
    const { path, sha256 } = writeArchive();
    const install = `native.installLibtorch(${JSON.stringify({ from: path, sha256 })})`;
    const env = { ACC_CACHE_DIR: join(folder, 'cache') };
    const both = await Promise.all([evaluate(install, env), evaluate(install, env)]);
    expect(both[0]).toEqual(both[1]);
    expect(both[0]?.value).toMatchObject({ root: join(folder, 'cache', 'libtorch', '2.12.0-cpu') });
    expect(readdirSync(join(folder, 'cache', 'libtorch'))).toEqual(['2.12.0-cpu']);
  });
});

interface Provided {
  readonly libtorch: { readonly root: string; readonly version: string; readonly variant: string };
  readonly addon: { readonly native: string };
}

/** The libtorch and the addon that setup provided for this checkout. */
async function provided(): Promise<Provided> {
  const { value } = await evaluate(`(() => {
    const libtorch = native.requireLibtorch();
    return { libtorch, addon: native.locateAddon(libtorch) };
  })()`);
  return value as Provided;
}

/** The same libtorch in another folder, through links, with the given version. */
function linkedLibtorch({ root: original, variant }: Provided['libtorch'], version: string): string {
  const copy = join(folder, 'torch');
  mkdirSync(join(copy, 'lib'), { recursive: true });
  for (const name of readdirSync(join(original, 'lib'))) {
    symlinkSync(join(original, 'lib', name), join(copy, 'lib', name));
  }
  symlinkSync(join(original, 'include'), join(copy, 'include'));
  writeFileSync(join(copy, 'version.py'), `__version__ = '${version}+${variant}'\n`);
  return copy;
}

/**
 * A CUDA torch finds NVIDIA's libraries relative to its own folder, which links do not preserve.
 */
function libraryPath(original: string): string {
  const nvidia = join(dirname(original), 'nvidia');
  const packages = existsSync(nvidia) ? readdirSync(nvidia) : [];
  return packages.map((name) => join(nvidia, name, 'lib')).join(':');
}

describe('loading the addon', () => {
  const load = 'native.loadAddon().torchVersion';

  it('loads the libtorch that ACC_LIBTORCH names', async () => {
    const { libtorch } = await provided();
    const { value } = await evaluate(load, { ACC_LIBTORCH: libtorch.root });
    expect(String(value).split('.').slice(0, 2)).toEqual(libtorch.version.split('.').slice(0, 2));
  });

  it('explains a damaged libtorch', async () => {
    const { libtorch } = await provided();
    const copy = linkedLibtorch(libtorch, libtorch.version);
    const library = join(copy, 'lib', `libc10.${extension}`);
    rmSync(library);
    writeFileSync(library, 'cut off');
    expect(await evaluate(load, { ACC_LIBTORCH: copy })).toMatchObject({ code: 'ACC_LIBTORCH_LOAD_FAILED' });
  });

  it('without an addon names the command that builds one', async () => {
    const { libtorch } = await provided();
    const env = { ACC_LIBTORCH: libtorch.root, ACC_CACHE_DIR: join(folder, 'empty') };
    const report = await evaluate(load, env);
    expect(report).toMatchObject({ code: 'ACC_ADDON_MISSING' });
    expect(report.message).toContain('npx acc setup');
  });

  it('refuses an addon that was built for another torch', async () => {
    const { libtorch, addon } = await provided();
    const other = libtorch.version.startsWith('2.12.') ? '2.13.0' : '2.12.0';
    const copy = linkedLibtorch(libtorch, other);
    const key = basename(dirname(addon.native)).replace(libtorch.version, other);
    cpSync(dirname(addon.native), join(folder, 'cache', 'addon', key), { recursive: true });
    const env = {
      ACC_LIBTORCH: copy,
      ACC_CACHE_DIR: join(folder, 'cache'),
      LD_LIBRARY_PATH: libraryPath(libtorch.root),
    };
    expect(await evaluate(load, env)).toMatchObject({ code: 'ACC_ADDON_MISMATCH' });
  });
});

describe('building the addon', () => {
  it('shows the message of the compiler if it fails, keeps the log and leaves nothing else', async () => {
    const torch = join(folder, 'torch');
    mkdirSync(join(torch, 'include', 'torch'), { recursive: true });
    mkdirSync(join(torch, 'lib'));
    for (const name of ['torch_cpu', 'c10']) writeFileSync(join(torch, 'lib', `lib${name}.${extension}`), '');
    writeFileSync(join(torch, 'version.py'), "__version__ = '2.13.0+cpu'\n");
    const env = { ACC_LIBTORCH: torch, ACC_CACHE_DIR: join(folder, 'cache') };
    const report = await evaluate('native.buildAddon(native.requireLibtorch())', env);
    expect(report).toMatchObject({ code: 'ACC_ADDON_BUILD_FAILED' });
    expect(report.message).toContain('fatal error');
    const logs = readdirSync(join(folder, 'cache', 'logs'));
    expect(logs.map((name) => existsSync(join(folder, 'cache', 'logs', name)))).toEqual([true]);
    expect(readdirSync(join(folder, 'cache', 'addon'))).toEqual([]);
  });

  it('without a compiler names what to install', async () => {
    const { libtorch } = await provided();
    const env = {
      ACC_LIBTORCH: libtorch.root,
      ACC_CACHE_DIR: join(folder, 'cache'),
      CXX: 'no-such-compiler',
    };
    expect(await evaluate('native.buildAddon(native.requireLibtorch())', env)).toMatchObject({
      code: 'ACC_TOOLCHAIN_MISSING',
    });
  });
});
