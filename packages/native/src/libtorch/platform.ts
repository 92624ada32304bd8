import { AccError } from '@acc/contract';

/** Platforms that PyTorch publishes a libtorch for and that the addon is built for. */
export const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-arm64'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** This process's platform, or undefined when it is not a supported one. */
export function currentPlatform(): Platform | undefined {
  const name = `${process.platform}-${process.arch}`;
  return PLATFORMS.find((platform) => platform === name);
}

/**
 * This process's platform.
 *
 * @throws AccError `ACC_PLATFORM_UNSUPPORTED`.
 */
export function requirePlatform(): Platform {
  const platform = currentPlatform();
  if (platform) return platform;
  throw new AccError(
    'ACC_PLATFORM_UNSUPPORTED',
    `libtorch is not supported on ${process.platform}-${process.arch}; supported: ${PLATFORMS.join(', ')}.`,
    { help: "Use another backend of TensorFlow.js here, for instance tfjs-node's." },
  );
}

/**
 * Refuses musl (Alpine), which the published libtorch binaries can't run on. Not part of every start, since Node
 * takes milliseconds to tell.
 *
 * @throws AccError `ACC_PLATFORM_UNSUPPORTED`.
 */
export function requireGlibc(): void {
  if (process.platform !== 'linux') return;
  const report = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  if (report.header.glibcVersionRuntime) return;
  throw new AccError(
    'ACC_PLATFORM_UNSUPPORTED',
    'libtorch needs glibc, and this Node runs on another libc.',
    {
      help: 'Use a Debian, Ubuntu, Fedora or similar image instead of Alpine.',
    },
  );
}

/** `torch_cpu` → `libtorch_cpu.so`, or `.dylib` on macOS. */
export function libraryFile(stem: string): string {
  return `lib${stem}.${process.platform === 'darwin' ? 'dylib' : 'so'}`;
}
