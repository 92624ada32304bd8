import { describe, expect, it } from 'vitest';
import { PLATFORMS } from './platform.js';
import {
  fileNameOf,
  isPublishedSha256,
  officialUrl,
  pipPlatformTag,
  pipRequirement,
  publishedSha256,
} from './sources.js';
import { DEFAULT_VERSION } from './version.js';

describe('sources', () => {
  it('include the official file of the default version and its checksum for every platform', () => {
    for (const platform of PLATFORMS) {
      const sha256 = publishedSha256(fileNameOf(officialUrl(platform, DEFAULT_VERSION)));
      expect(sha256).toMatch(/^[0-9a-f]{64}$/);
      expect(isPublishedSha256(sha256!)).toBe(true);
      expect(pipPlatformTag(platform)).toMatch(/_(x86_64|aarch64|arm64)$/);
    }
  });

  it('can be a mirror', () => {
    expect(officialUrl('linux-x64', '2.12.0', 'https://mirror.example/pytorch/')).toBe(
      'https://mirror.example/pytorch/libtorch/cpu/libtorch-shared-with-deps-2.12.0%2Bcpu.zip',
    );
  });

  it('never include a CUDA build', () => {
    expect(pipRequirement('linux-x64', '2.13.0')).toBe('torch==2.13.0+cpu');
    expect(pipRequirement('darwin-arm64', '2.13.0')).toBe('torch==2.13.0');
  });
});
