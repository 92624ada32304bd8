import { isAccError, type AccError } from '@acc/contract';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { requireToolchain } from './toolchain.js';
import { temporaryFolder } from './test-support.js';

describe('requireToolchain', () => {
  it("finds this workspace's node-gyp", () => {
    expect(existsSync(requireToolchain().nodeGyp)).toBe(true);
  });

  it('names everything that is missing and how to install it', () => {
    using folder = temporaryFolder();
    try {
      requireToolchain({ PATH: folder.path, CXX: 'my-compiler -m64' });
      expect.unreachable();
    } catch (error) {
      expect(isAccError(error, 'ACC_TOOLCHAIN_MISSING')).toBe(true);
      expect((error as AccError).details).toEqual({ missing: ['my-compiler', 'make', 'python3'] });
      expect((error as AccError).help).toMatch(/apt-get install|xcode-select/);
    }
  });
});
