import { AccError } from '@acc/contract';

/** The platforms for which PyTorch publishes libtorch and this package publishes the addon. */
export const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-arm64'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** The part of `process` that names a system. */
export type System = Pick<NodeJS.Process, 'platform' | 'arch'>;

/** The platform of a system, by default that of this process. Undefined if it is not supported. */
export function currentPlatform({ platform: system, arch }: System = process): Platform | undefined {
  const name = `${system}-${arch}`;
  return PLATFORMS.find((platform) => platform === name);
}

/**
 * The platform of a system, by default that of this process.
 *
 * @throws AccError `ACC_PLATFORM_UNSUPPORTED`.
 */
export function requirePlatform(system: System = process): Platform {
  const platform = currentPlatform(system);
  if (platform) return platform;
  const other = "Use another backend of TensorFlow.js on this platform, for example tfjs-node's";
  throw new AccError(
    'ACC_PLATFORM_UNSUPPORTED',
    `libtorch is not supported on ${system.platform}-${system.arch}; supported: ${PLATFORMS.join(', ')}.`,
    {
      help:
        system.platform === 'win32'
          ? `${other}, or install this in the Windows Subsystem for Linux (WSL).`
          : `${other}.`,
    },
  );
}

/**
 * Throws on musl (Alpine), which cannot run the published libtorch binaries. It is not part of
 * every start, because Node.js needs milliseconds to detect it.
 *
 * @param system By default `process`, whose report names the version of glibc.
 * @throws AccError `ACC_PLATFORM_UNSUPPORTED`.
 */
export function requireGlibc(system: Pick<NodeJS.Process, 'platform' | 'report'> = process): void {
  if (system.platform !== 'linux') return;
  const report = system.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  if (report.header.glibcVersionRuntime) return;
  throw new AccError(
    'ACC_PLATFORM_UNSUPPORTED',
    'PyTorch publishes libtorch for glibc only, and this Node.js runs on another C library, such as musl of Alpine Linux.',
    { help: NEEDS_GLIBC },
  );
}

/** The next step on a system with musl. */
export const NEEDS_GLIBC =
  'Use an image of Debian, Ubuntu or Fedora, such as node:24-bookworm-slim, instead of Alpine. One process ' +
  'can train on a backend of TensorFlow.js on Alpine, too.';

/** `torch_cpu` → `libtorch_cpu.so`, or `.dylib` on macOS. */
export function libraryFile(stem: string, platform: NodeJS.Platform = process.platform): string {
  return `lib${stem}.${platform === 'darwin' ? 'dylib' : 'so'}`;
}
