import { AccError, checkKeys } from '@acc/contract';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openTorchArchive, unpackTorchArchive, type TorchArchive } from './archive.js';
import { judgeChecksum, sha256OfFile } from './checksum.js';
import { asDiskError } from './disk.js';
import { readEnvironment } from './environment.js';
import { fetchFromFirst, planSources, type FetchedFile, type InstallProgress } from './fetch.js';
import { inspectLibtorch, type LibtorchInstall } from './inspect.js';
import { requireGlibc, requirePlatform } from './platform.js';
import { createStaging } from './staging.js';
import { DEFAULT_VERSION, SUPPORTED_RANGE, isSupportedVersion } from './version.js';

export interface InstallOptions {
  /** The version, such as `2.13.0` (default), or another release of a supported line. */
  readonly version?: string;
  /**
   * The only source: the path or http(s) URL of a libtorch archive (`.zip`) or torch wheel
   * (`.whl`).
   */
  readonly from?: string;
  /** The expected SHA-256 of the archive, in hexadecimal. Default: the published checksum. */
  readonly sha256?: string;
  /** Does not use the network: only `from`, or a wheel that `pip` finds on this machine. */
  readonly offline?: boolean;
  readonly onProgress?: (progress: InstallProgress) => void;
}

const OPTION_KEYS = ['version', 'from', 'sha256', 'offline', 'onProgress'];

/**
 * Installs the CPU build of libtorch into the cache: from the official archive, or if that cannot
 * be reached from the wheel that `pip` fetches. Only libraries and headers are unpacked. They are
 * unpacked to a staging folder, which is then renamed. Therefore no process sees an incomplete
 * cache, and two concurrent calls both succeed.
 *
 * @returns The libtorch in the cache. If it is already there and `from` is not given, nothing is
 * fetched.
 * @throws AccError `ACC_DOWNLOAD_UNREACHABLE`, `ACC_CHECKSUM_MISMATCH`, `ACC_CHECKSUM_MISSING`,
 * `ACC_LIBTORCH_INVALID`, `ACC_LIBTORCH_UNSUPPORTED`, `ACC_DISK_FULL`, `ACC_CACHE_NOT_WRITABLE`,
 * `ACC_PLATFORM_UNSUPPORTED`, `ACC_UNKNOWN_OPTION`.
 */
export async function installLibtorch(options: InstallOptions = {}): Promise<LibtorchInstall> {
  checkKeys('installLibtorch', options, OPTION_KEYS);
  const platform = requirePlatform();
  requireGlibc();
  const environment = readEnvironment();
  const version = options.version ?? DEFAULT_VERSION;
  refuseUnsupported(version);
  const parent = join(environment.cacheDir, 'libtorch');
  if (options.from === undefined) {
    const cached = inspectLibtorch(join(parent, `${version}-cpu`), 'cache');
    if ('install' in cached) return cached.install;
  }
  using staging = createStaging(parent);
  const sources = planSources({
    platform,
    version,
    from: options.from,
    offline: options.offline ?? false,
    sha256: options.sha256,
    libtorchUrl: environment.libtorchUrl,
    downloadDir: join(environment.cacheDir, 'downloads'),
    stagingDir: staging.path,
    onProgress: options.onProgress ?? (() => undefined),
  });
  const fetched = await fetchFromFirst(sources, options.onProgress ?? (() => undefined), (file) =>
    unpackVerified(file, join(staging.path, 'libtorch'), options),
  );
  const name = `${fetched.torch.version}-${fetched.torch.label ?? 'cpu'}`;
  return publishInstall(join(staging.path, 'libtorch'), join(parent, name), staging.publish);
}

/**
 * Verifies and unpacks a fetched file. A download is removed afterwards, whether it was valid or
 * not.
 */
async function unpackVerified(file: FetchedFile, folder: string, options: InstallOptions) {
  const { onProgress } = options;
  let archive: TorchArchive | undefined;
  try {
    archive = await openTorchArchive(file.path);
    const { kind, torch } = archive;
    const sha256 = await sha256OfFile(file.path);
    const verified = judgeChecksum(sha256, { fileName: file.fileName, kind, given: options.sha256 });
    if (verified === 'record') {
      const message = `${file.fileName} is not a known published build; its files are checked against its own RECORD`;
      onProgress?.({ phase: 'note', message });
    }
    refuseUnsupported(torch.version);
    refuseOtherVersion(torch.version, options.version, file.fileName);
    await unpackTorchArchive(archive, folder, (doneBytes, totalBytes) =>
      onProgress?.({ phase: 'unpack', doneBytes, totalBytes }),
    );
    const origin = { source: file.source, fileName: file.fileName, sha256, verifiedBy: verified };
    writeFileSync(join(folder, 'acc-origin.json'), `${JSON.stringify(origin, undefined, 2)}\n`);
    return { torch };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw asDiskError(error, folder);
  } finally {
    archive?.zip.close();
    if (file.temporary) rmSync(file.path, { force: true });
  }
}

/**
 * Moves the unpacked folder to its destination. An existing folder remains if it is usable;
 * otherwise it is replaced.
 */
function publishInstall(
  folder: string,
  destination: string,
  publish: (folder: string, destination: string) => boolean,
): LibtorchInstall {
  const whole = () => 'install' in inspectLibtorch(destination, 'cache');
  if (!publish(folder, destination) && !whole()) {
    rmSync(destination, { recursive: true, force: true });
    publish(folder, destination);
  }
  const inspection = inspectLibtorch(destination, 'cache');
  if ('install' in inspection) return inspection.install;
  throw new AccError(inspection.code, `${destination} cannot be used: ${inspection.reason}.`, {
    help: "Give PyTorch's own libtorch archive or torch wheel for this platform.",
  });
}

function refuseUnsupported(version: string): void {
  if (isSupportedVersion(version)) return;
  throw new AccError(
    'ACC_LIBTORCH_UNSUPPORTED',
    `torch ${version} is not supported. Supported versions are ${SUPPORTED_RANGE}.`,
    {
      help: 'npx acc setup (installs a tested version)',
      details: { version, supported: SUPPORTED_RANGE },
    },
  );
}

function refuseOtherVersion(found: string, asked: string | undefined, fileName: string): void {
  if (asked === undefined || asked === found) return;
  throw new AccError(
    'ACC_LIBTORCH_INVALID',
    `${fileName} contains torch ${found}, but ${asked} was requested.`,
    {
      help: 'Leave the version out, or give a file of the requested version.',
      details: { found, asked },
    },
  );
}
