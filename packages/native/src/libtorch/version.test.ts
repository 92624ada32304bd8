import { describe, expect, it } from 'vitest';
import {
  compareVersions,
  isSupportedVersion,
  isTestedVersion,
  parseTorchVersion,
  releaseLine,
} from './version.js';

describe('torch versions', () => {
  it('are parsed', () => {
    expect(parseTorchVersion('2.13.0+cpu\n')).toEqual({ version: '2.13.0', label: 'cpu' });
    expect(parseTorchVersion('2.13.0')).toEqual({ version: '2.13.0', label: undefined });
    expect(parseTorchVersion('2.14.0a0+git1234')).toEqual({ version: '2.14.0a0', label: 'git1234' });
    expect(parseTorchVersion('unknown')).toBeUndefined();
  });

  it('are tested from 2.11 to 2.15, and newer ones of the same major version are supported', () => {
    const versions = ['2.10.1', '2.11.0', '2.13.9', '2.15.1', '2.16.0', '3.11.0', '1.13.0', 'main'];
    expect(versions.filter(isTestedVersion)).toEqual(['2.11.0', '2.13.9', '2.15.1']);
    expect(versions.filter(isSupportedVersion)).toEqual(['2.11.0', '2.13.9', '2.15.1', '2.16.0']);
  });

  it('are ordered numerically', () => {
    expect(['2.9.0', '2.13.0', '2.11.1'].sort(compareVersions)).toEqual(['2.9.0', '2.11.1', '2.13.0']);
    expect(releaseLine('2.13.0')).toBe('2.13');
  });
});
