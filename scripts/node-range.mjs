/**
 * Whether a version of Node.js is in a range of `engines`, such as `^20.19 || >=22.12`. It is for scripts
 * that run before packages are installed.
 */
export function isInRange(version, range) {
  const [major, minor] = version.split('.').map(Number);
  return range.split(' || ').some((part) => {
    const [, operator, ...floor] = /^(\^|>=)(\d+)\.(\d+)$/.exec(part);
    const [fromMajor, fromMinor] = floor.map(Number);
    if (major === fromMajor) return minor >= fromMinor;
    return operator === '>=' && major > fromMajor;
  });
}
