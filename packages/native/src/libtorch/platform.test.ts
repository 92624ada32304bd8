import { isAccError } from '@acc/contract';
import { expect, it } from 'vitest';
import { currentPlatform, libraryFile, requireGlibc, requirePlatform, type System } from './platform.js';

const LINUX_ARM: System = { platform: 'linux', arch: 'arm64' };
const MAC: System = { platform: 'darwin', arch: 'arm64' };
const OLD_MAC: System = { platform: 'darwin', arch: 'x64' };
const WINDOWS: System = { platform: 'win32', arch: 'x64' };

/** A system whose Node.js runs on this version of glibc, or on another C library. */
const withGlibc = (glibcVersionRuntime: string | undefined, platform: NodeJS.Platform = 'linux') => ({
  platform,
  report: { ...process.report, getReport: () => ({ header: { glibcVersionRuntime } }) },
});

function errorOf(call: () => unknown): { message: string; help: string | undefined } {
  try {
    call();
  } catch (error) {
    if (isAccError(error, 'ACC_PLATFORM_UNSUPPORTED')) return error;
    throw error;
  }
  throw new Error('It did not throw.');
}

it('knows the systems for which PyTorch publishes libtorch', () => {
  expect([LINUX_ARM, MAC, OLD_MAC, WINDOWS].map((system) => currentPlatform(system))).toEqual([
    'linux-arm64',
    'darwin-arm64',
    undefined,
    undefined,
  ]);
  expect(requirePlatform(MAC)).toBe('darwin-arm64');
  expect(errorOf(() => requirePlatform(OLD_MAC)).message).toContain('not supported on darwin-x64');
});

it('names the Windows Subsystem for Linux on Windows alone', () => {
  expect(errorOf(() => requirePlatform(WINDOWS)).help).toContain('WSL');
  expect(errorOf(() => requirePlatform(OLD_MAC)).help).not.toContain('WSL');
});

it('refuses a Node.js that runs on musl, and asks only on Linux', () => {
  const { message, help } = errorOf(() => requireGlibc(withGlibc(undefined)));
  expect(message).toContain('musl of Alpine Linux');
  expect(help).toContain('instead of Alpine');
  requireGlibc(withGlibc('2.36'));
  requireGlibc(withGlibc(undefined, 'darwin'));
});

it('names libraries as the system does', () => {
  expect(libraryFile('c10', 'darwin')).toBe('libc10.dylib');
  expect(libraryFile('c10', 'linux')).toBe('libc10.so');
});
