import { readEnvironment } from './environment.js';
import { requirePlatform, type Platform } from './platform.js';
import { OFFICIAL_HOST, fileNameOf, pipPlatformTag } from './sources.js';
import { compareVersions, isTestedVersion } from './version.js';

/** A CPU wheel of torch, as an index offers it. */
export interface OfferedWheel {
  readonly version: string;
  readonly url: string;
  /** In hexadecimal, as the index states it. */
  readonly sha256: string;
}

const ANSWER_MS = 5_000;

/**
 * The newest tested version of torch's CPU wheel in PyTorch's index, or in that of the mirror
 * `ACC_LIBTORCH_URL`. Undefined if the index does not answer within five seconds, if it has none with a
 * checksum, or if others can change its answer on the way, because the checksum is part of the answer.
 */
export async function newestWheel(): Promise<OfferedWheel | undefined> {
  const index = `${(readEnvironment().libtorchUrl ?? OFFICIAL_HOST).replace(/\/+$/, '')}/whl/cpu/torch/`;
  try {
    if (!isSecure(new URL(index))) return undefined;
    const response = await fetch(index, { signal: AbortSignal.timeout(ANSWER_MS) });
    if (!response.ok || !isSecure(new URL(response.url))) return undefined;
    return newestIn(await response.text(), response.url, requirePlatform());
  } catch {
    // The index is one of several sources.
    return undefined;
  }
}

/** The newest tested wheel on a page of an index (PEP 503), whose links may be relative. */
export function newestIn(page: string, base: string, platform: Platform): OfferedWheel | undefined {
  const links = Array.from(page.matchAll(/href="([^"]+)"/g), ([, link]) => new URL(unescaped(link!), base));
  const offered = links.flatMap((link): OfferedWheel[] => {
    const [, version, label, tag] =
      /^torch-(\d+\.\d+\.\d+)(\+cpu)?-cp\d+-\w+-(\w+)\.whl$/.exec(fileNameOf(link.href)) ?? [];
    const sha256 = /^#sha256=([0-9a-f]{64})$/.exec(link.hash)?.[1];
    if (version === undefined || sha256 === undefined || !isTestedVersion(version)) return [];
    if (!isSecure(link)) return [];
    const isOurs = tag === pipPlatformTag(platform) && (label !== undefined || platform === 'darwin-arm64');
    link.hash = '';
    return isOurs ? [{ version, url: link.href, sha256 }] : [];
  });
  return offered.sort((a, b) => compareVersions(b.version, a.version))[0];
}

/** Whether the address is one of https, or of this machine. */
function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

const unescaped = (text: string) => text.replaceAll('&amp;', '&');
