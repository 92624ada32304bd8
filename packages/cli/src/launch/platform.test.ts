import { expect, it } from 'vitest';
import { requirePlatform } from './platform.js';

const refused = (platform: string, versions: Record<string, string>) =>
  expect(() => requirePlatform({ platform, versions })).toThrow(
    expect.objectContaining({ code: 'ACC_PLATFORM_UNSUPPORTED' }),
  );

it('requires Node.js, and refuses Windows, Bun and Deno', () => {
  expect(() => requirePlatform(process)).not.toThrow();
  refused('win32', { node: '22.1.0' });
  refused('linux', { node: '24.3.0', bun: '1.3.0' });
  refused('darwin', { node: '24.2.0', deno: '2.5.0' });
});
