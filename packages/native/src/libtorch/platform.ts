import { AccError } from '@acc/contract';

/** The platforms for which PyTorch publishes libtorch and this package publishes the addon. */
export const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-arm64'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** The platform of this process. Undefined if it is not supported. */
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
    { help: "Use another backend of TensorFlow.js on this platform, for example tfjs-node's." },
  );
}

/**
 * Throws on musl (Alpine), which cannot run the published libtorch binaries. It is not part of
 * every start, because Node.js needs milliseconds to detect it.
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
