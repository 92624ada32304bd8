// The commands of examples/docker run in a system that debootstrap makes, in place of Docker.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  createReadStream,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { requireLibtorch } from '@acc/native';
import { run } from '../e2e/trackers/packing.js';
import { startMirror, zipOf, type Mirror } from './mirror.js';

const LIMIT = { timeout: 900_000 };
const examples = join(import.meta.dirname, '..', '..', 'examples', 'docker');
const system = mkdtempSync(join(tmpdir(), 'acc-debian-'));

let mirror: Mirror;
let wheels: Awaited<ReturnType<typeof serveLibtorch>>;

beforeAll(async () => {
  mirror = await startMirror();
  wheels = await serveLibtorch();
  if (spawnSync('debootstrap', ['--version']).error)
    throw new Error('Install debootstrap, and run this as root.');
  const include = '--include=ca-certificates,libstdc++6,libatomic1';
  await run('debootstrap', ['--variant=minbase', include, 'bookworm', system], tmpdir());
  addNode();
  // All users of the system enter its root.
  chmodSync(system, 0o755);
}, 1_200_000);

afterAll(async () => {
  for (const each of [mirror, wheels]) await each?.[Symbol.asyncDispose]();
  rmSync(system, { recursive: true, force: true });
});

/** Node.js 24 and npm, where the image `node:24-bookworm-slim` has them. */
function addNode(): void {
  const lib = join(system, 'usr', 'local', 'lib', 'node_modules');
  mkdirSync(lib, { recursive: true });
  cpSync(mirror.node, join(system, 'usr', 'local', 'bin', 'node'));
  const found = spawnSync('npm', ['root', '-g'], { encoding: 'utf8' }).stdout.trim();
  cpSync(realpathSync(join(found, 'npm')), join(lib, 'npm'), { recursive: true });
  for (const name of ['npm', 'npx']) {
    const script = `#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/${name}-cli.js "$@"\n`;
    writeFileSync(join(system, 'usr', 'local', 'bin', name), script, { mode: 0o755 });
  }
  for (const [file, line] of [
    ['passwd', 'node:x:1000:1000::/home/node:/bin/sh'],
    ['group', 'node:x:1000:'],
  ] as const)
    writeFileSync(join(system, 'etc', file), `${line}\n`, { flag: 'a' });
  mkdirSync(join(system, 'home', 'node'), { recursive: true });
  spawnSync('chown', ['1000:1000', join(system, 'home', 'node')]);
}

/** An index of wheels on this machine, with this machine's libtorch. */
async function serveLibtorch(): Promise<AsyncDisposable & { readonly url: string }> {
  const libtorch = requireLibtorch();
  const folder = mkdtempSync(join(tmpdir(), 'acc-wheels-'));
  // A wheel that PyTorch has not published, whose checksum is not known.
  const name = `torch-${libtorch.version}+cpu-cp310-cp310-manylinux_2_28_x86_64.whl`;
  const path = join(folder, name);
  const sha256 = await zipOf(libtorch.root, path);
  const link = `<a href="../${encodeURIComponent(name)}#sha256=${sha256}">${name}</a>`;
  const server = createServer(({ url }, response) => {
    if (url === '/whl/cpu/torch/') return response.end(link);
    if (decodeURIComponent(url!) !== `/whl/cpu/${name}`) return response.writeHead(404).end();
    response.setHeader('content-length', statSync(path).size);
    return createReadStream(path).pipe(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      rmSync(folder, { recursive: true });
    },
  };
}

/** Runs a line of a shell in the system. */
function inSystem(
  line: string,
  { cwd, user, env }: { cwd: string; user: string; env: object },
): Promise<string> {
  const variables = Object.entries({
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: user === 'root' ? '/root' : '/home/node',
    CI: '1',
    ...env,
  });
  const given = variables.map(([name, value]) => `${name}=${value}`);
  const mounts = `mount -t proc proc ${system}/proc && mount -t tmpfs -o size=2g shm ${system}/dev/shm`;
  const entered = `${mounts} && exec chroot --userspec=${user === 'root' ? '0:0' : '1000:1000'} ${system} env -i "$@"`;
  const command = ['sh', '-c', `cd ${cwd} && ${line}`];
  return run('unshare', ['--mount', 'sh', '-c', entered, 'sh', ...given, ...command], tmpdir());
}

const MANIFEST = JSON.stringify({
  private: true,
  type: 'module',
  dependencies: { '@acc/core': 'latest', '@tensorflow/tfjs': '4.22.0' },
});

function copyProgram(folder: string): void {
  mkdirSync(join(system, folder), { recursive: true });
  writeFileSync(join(system, folder, 'package.json'), MANIFEST);
  cpSync(join(examples, 'train.mjs'), join(system, folder, 'train.mjs'));
}

const LEARNT = 'slope 3.00, offset 1.00';

it('the commands of the Dockerfile make an image that trains', LIMIT, async () => {
  const text = readFileSync(join(examples, 'Dockerfile'), 'utf8');
  const instructions = Array.from(
    text.matchAll(/^([A-Z]+) (.*)$/gm),
    ([, name, value]) => [name!, value!] as const,
  );
  const env: Record<string, string> = { NPM_CONFIG_REGISTRY: mirror.url, ACC_LIBTORCH_URL: wheels.url };
  let [cwd, user, ran] = ['/', 'root', 0];
  for (const [name, value] of instructions) {
    if (name === 'WORKDIR') cwd = value;
    if (name === 'WORKDIR') copyProgram(value);
    if (name === 'ENV') Object.assign(env, Object.fromEntries([value.split('=') as [string, string]]));
    if (name === 'USER') user = value;
    if (name === 'RUN') ran++;
    if (name === 'RUN') await inSystem(value, { cwd, user, env });
    if (name !== 'CMD') continue;
    const command = (JSON.parse(value) as string[]).join(' ');
    expect(await inSystem(command, { cwd, user, env: { ACC_CACHE_DIR: env['ACC_CACHE_DIR'] } })).toContain(
      LEARNT,
    );
  }
  expect([ran, user]).toEqual([2, 'node']);
});

it('the development container prepares itself and trains', LIMIT, async () => {
  const text = readFileSync(join(examples, '.devcontainer', 'devcontainer.json'), 'utf8');
  const { containerEnv, remoteUser, postCreateCommand } = JSON.parse(text) as {
    containerEnv: object;
    remoteUser: string;
    postCreateCommand: string;
  };
  const cwd = '/home/node/program';
  copyProgram(cwd);
  spawnSync('chown', ['-R', '1000:1000', join(system, dirname(cwd))]);
  const env = { ...containerEnv, NPM_CONFIG_REGISTRY: mirror.url, ACC_LIBTORCH_URL: wheels.url };
  await inSystem(postCreateCommand, { cwd, user: remoteUser, env });
  expect(
    await inSystem('npx --no-install acc launch -n 2 train.mjs', { cwd, user: remoteUser, env }),
  ).toContain(LEARNT);
});
