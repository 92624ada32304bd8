// Determines on which systems a built addon loads: the versions of system libraries that its
// symbols need.
import { execFileSync } from 'node:child_process';

/**
 * The versions that libtorch's own binaries may need (`manylinux_2_28`): glibc 2.28 and the
 * libstdc++ of GCC 8.
 */
export const BASELINE = { GLIBC: '2.28', GLIBCXX: '3.4.24', CXXABI: '1.3.11', GCC: '7.0.0' };

/**
 * The highest version of each library that an ELF file needs. Uses `readelf`, which comes with the
 * compiler.
 *
 * @returns {Record<string, string>} `{ GLIBC: '2.28', GLIBCXX: '3.4.22', … }`
 */
export function symbolVersions(path) {
  const listed = execFileSync('readelf', ['--version-info', '--wide', path], { encoding: 'utf8' });
  const highest = {};
  for (const [, library, version] of listed.matchAll(/\b(GLIBC|GLIBCXX|CXXABI|GCC)_(\d[\d.]*)/g)) {
    if (highest[library] === undefined || isNewer(version, highest[library])) highest[library] = version;
  }
  return highest;
}

/**
 * Refuses a file that needs newer versions than these.
 *
 * @throws Error that names the symbols and their versions.
 */
export function requireBaseline(path, baseline = BASELINE) {
  const versions = symbolVersions(path);
  const above = Object.entries(versions).filter(([library, version]) => isNewer(version, baseline[library]));
  if (above.length === 0) return versions;
  const symbols = execFileSync('readelf', ['--dyn-syms', '--wide', path], { encoding: 'utf8' }).matchAll(
    /\S+@+(GLIBC|GLIBCXX|CXXABI|GCC)_(\d[\d.]*)/g,
  );
  const named = [...symbols]
    .filter(([, library, version]) => isNewer(version, baseline[library]))
    .map(([symbol]) => symbol);
  const wanted = Object.entries(baseline).map(([library, version]) => `${library} ${version}`);
  throw new Error(
    `${path} asks for more than ${wanted.join(', ')}: ${named.join(', ')}. See cpp/portable/glibc_2_28.h.`,
  );
}

function isNewer(a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
