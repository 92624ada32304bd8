import { describe, expect, it } from 'vitest';
import { planSources, type SourceRequest } from './fetch.js';
import { downloadIn } from './pip.js';

const REQUEST: SourceRequest = {
  platform: 'linux-x64',
  version: '2.13.0',
  from: undefined,
  offline: false,
  sha256: undefined,
  libtorchUrl: undefined,
  downloadDir: '/cache/downloads',
  stagingDir: '/cache/staging',
  onProgress: () => undefined,
};

const kinds = (request: Partial<SourceRequest>) =>
  planSources({ ...REQUEST, ...request }).map(({ name }) => {
    const host = URL.canParse(name) ? new URL(name).host : undefined;
    return host ?? (name.startsWith('pip') ? 'pip' : name);
  });

describe('planSources', () => {
  it('knows the size of what pip downloads', () => {
    const line =
      'Downloading https://a.example/torch-2.13.0%2Bcpu-cp311-manylinux_2_28_x86_64.whl (190.1 MB)';
    expect(downloadIn(`Collecting torch\n  ${line}\n`)).toBe(
      'torch-2.13.0+cpu-cp311-manylinux_2_28_x86_64.whl (190.1 MB)',
    );
    expect(downloadIn('Processing ./torch.whl')).toBeUndefined();
  });

  it('tries the official archive, then pip', () => {
    expect(kinds({})).toEqual(['download.pytorch.org', 'pip']);
  });

  it('leaves out an official archive without a known checksum', () => {
    expect(kinds({ version: '2.12.0' })).toEqual(['pip']);
    expect(kinds({ version: '2.12.0', sha256: 'f'.repeat(64) })).toEqual(['download.pytorch.org']);
  });

  it('uses only what the user names', () => {
    expect(kinds({ from: '/a/b.zip' })).toEqual(['/a/b.zip']);
    expect(kinds({ from: 'https://a.example/b.whl', libtorchUrl: 'https://m.example' })).toEqual([
      'a.example',
    ]);
    expect(kinds({ libtorchUrl: 'https://m.example/pytorch' })).toEqual(['m.example']);
    expect(planSources({ ...REQUEST, libtorchUrl: 'https://m.example/own.zip' })[0]?.name).toBe(
      'https://m.example/own.zip',
    );
  });

  it('does not use the network when offline', async () => {
    expect(kinds({ offline: true, libtorchUrl: 'https://m.example' })).toEqual(['pip']);
    const [source] = planSources({ ...REQUEST, offline: true, from: 'https://a.example/b.whl' });
    await expect(source!.fetch()).rejects.toMatchObject({ code: 'ACC_DOWNLOAD_UNREACHABLE' });
  });

  it('refuses a URL that is not http(s)', () => {
    expect(() => planSources({ ...REQUEST, from: 'ftp://a.example/b.zip' })).toThrow(
      expect.objectContaining({ code: 'ACC_LIBTORCH_INVALID' }),
    );
  });
});
