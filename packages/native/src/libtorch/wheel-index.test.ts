import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newestIn, newestWheel } from './wheel-index.js';

afterEach(() => void vi.unstubAllEnvs());

const SUM = 'a'.repeat(64);
const link = (name: string, hash = `#sha256=${SUM}`) => `<a href="/whl/cpu/${name}${hash}">${name}</a><br/>`;
const wheel = (version: string, tag = 'manylinux_2_28_x86_64') => `torch-${version}-cp311-cp311-${tag}.whl`;

const PAGE = [
  wheel('2.9.1%2Bcpu'),
  wheel('2.13.0%2Bcpu'),
  wheel('2.15.0%2Bcpu'),
  wheel('2.14.1%2Bcpu'),
  // Not tested, with CUDA, for another platform, or something else.
  wheel('2.99.0%2Bcpu'),
  wheel('2.15.1'),
  wheel('2.15.2%2Bcpu', 'manylinux_2_28_aarch64'),
  'torch-2.15.3%2Bcpu.tar.gz',
]
  .map((name) => link(name))
  .concat(link(wheel('2.15.4%2Bcpu'), ''))
  .join('\n');

describe("PyTorch's index of wheels", () => {
  it('gives the newest tested CPU wheel of the platform that has a checksum', () => {
    const base = 'https://host.example/whl/cpu/torch/';
    expect(newestIn(PAGE, base, 'linux-x64')).toEqual({
      version: '2.15.0',
      url: `https://host.example/whl/cpu/${wheel('2.15.0%2Bcpu')}`,
      sha256: SUM,
    });
    expect(newestIn(PAGE, base, 'linux-arm64')?.version).toBe('2.15.2');
    expect(newestIn(PAGE, base, 'darwin-arm64')).toBeUndefined();
    expect(newestIn(link(wheel('2.14.0', 'macosx_14_0_arm64')), base, 'darwin-arm64')?.version).toBe(
      '2.14.0',
    );
  });

  it('is used by https only, because its checksums come on the same way', async () => {
    expect(newestIn(PAGE, 'http://host.example/whl/cpu/torch/', 'linux-x64')).toBeUndefined();
    const fetched = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('asked'));
    vi.stubEnv('ACC_LIBTORCH_URL', 'http://host.example');
    expect(await newestWheel()).toBeUndefined();
    expect(fetched).not.toHaveBeenCalled();
    fetched.mockRestore();
  });

  it('is asked on the mirror, and is no error if there is none', async () => {
    const asked: string[] = [];
    const server = createServer(({ url }, response) => {
      asked.push(url!);
      response.statusCode = url === '/mirror/whl/cpu/torch/' ? 200 : 404;
      response.end(PAGE);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    vi.stubEnv('ACC_LIBTORCH_URL', `${host}/mirror/`);
    const found = await newestWheel();
    vi.stubEnv('ACC_LIBTORCH_URL', `${host}/other`);
    expect(await newestWheel()).toBeUndefined();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    expect(await newestWheel()).toBeUndefined();
    if (process.platform === 'linux' && process.arch === 'x64') expect(found?.version).toBe('2.15.0');
    expect(asked).toEqual(['/mirror/whl/cpu/torch/', '/other/whl/cpu/torch/']);
  });
});
